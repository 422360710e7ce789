export type PixKeyType = 'CPF' | 'CNPJ' | 'EMAIL' | 'PHONE' | 'EVP'

/** "PixKeyVo" of the service interface. */
export type PixKey = { key: string; type: PixKeyType }
