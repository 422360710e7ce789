/**
 * Why the settlement system (SPI) or one of its participants rejects a payment or a return, in the words of a Brazilian
 * PSP. {@link rejectedPayoutAmounts} follows this order.
 */
export const spiCodes = {
  AB03: 'Liquidação da transação interrompida devido a timeout no SPI.',
  AB09: 'Transação interrompida devido a erro no participante do usuário recebedor.',
  AC03: 'Número da agência e/ou conta transacional do usuário recebedor inexistente ou inválido.',
  AC06: 'Conta transacional do usuário recebedor encontra-se bloqueada.',
  AC07: 'Conta transacional do usuário recebedor encontra-se encerrada.',
  AC14: 'Tipo incorreto para a conta transacional do usuário recebedor.',
  AG03: 'Tipo de transação não suportado ou não autorizado na conta transacional do usuário recebedor.',
  AM02: 'Valor acima do limite permitido para o tipo de conta do usuário recebedor.',
  AM04: 'Saldo insuficiente na conta do participante do usuário pagador.',
  AM09: 'Devolução em valor que faz superar o valor da ordem de pagamento correspondente.',
  BE01: 'CPF/CNPJ do usuário recebedor não é consistente com o titular da conta.',
  BE17: 'QR Code rejeitado pelo participante do usuário recebedor.',
  CH11: 'CPF/CNPJ do usuário recebedor incorreto.',
  DS04: 'Ordem rejeitada pelo participante do usuário recebedor.',
  DS27: 'Participante não se encontra cadastrado ou ainda não iniciou a operação no SPI.',
  DT05: 'Transação extrapola o prazo máximo para devolução.',
  DUPL: 'Identificador da transação duplicado.',
  ED05: 'Erro no processamento da transação.',
  FF08: 'Identificador fim a fim inválido.',
  FRAD: 'Fundada suspeita de fraude.',
  RC09: 'ISPB do participante do usuário pagador inválido ou inexistente.',
  RC10: 'ISPB do participante do usuário recebedor inválido ou inexistente.',
  RR04: 'Transação não permitida por restrição regulatória ou sanção.',
  AG13: 'Não é permitida a devolução de uma devolução.',
} as const

export type SpiCode = keyof typeof spiCodes

const firstRejectedAmount = 900_001

/**
 * The payouts that are rejected, by their amount in cents: 900001 with AB03, 900002 with AB09 and so on in the order of
 * {@link spiCodes}, up to 900024 with AG13.
 */
export const rejectedPayoutAmounts: ReadonlyMap<number, SpiCode> = new Map(
  listCodes().map((code, index) => [firstRejectedAmount + index, code]),
)

export function listCodes(): SpiCode[] {
  return Object.keys(spiCodes).filter(isSpiCode)
}

export function isSpiCode(text: string): text is SpiCode {
  return Object.hasOwn(spiCodes, text)
}
