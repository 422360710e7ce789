/** A text of this length. */
export const text = (length: number) => 'x'.repeat(length)
const notStrings: unknown[] = [null, 7, true, ['text text'], { a: 1 }]
const notIntegers = ['100', true, 1.5, null, -1, [100], {}]
const notObjects = [null, 'text', 7, true, []]
const lengths = (min: number, max: number) => ({
  accepted: [text(min), text(max), '😀'.repeat(min)],
  refused: [
    text(min - 1),
    text(max + 1),
    'a\u0000bcdefgh',
    'abcdefgh\ud800',
    'abcd\nefgh',
    'abcd\u0085efgh',
    ...notStrings,
  ],
})

const optional = ({ accepted, refused }: { accepted: unknown[]; refused: unknown[] }) => ({
  accepted: [undefined, ...accepted],
  refused,
})

const names = {
  accepted: [
    'Ana',
    '7',
    'João d’Ávila',
    'Joa\u0303o',
    '株式会社',
    'Ольга',
    'عمر',
    'हिन्दी',
    '1º Cartório',
    'A & B (C) / D, E. - F',
    text(255),
  ],
  refused: [undefined, '', ' ', '-.,', 'a_b', '<b>', 'a\tb', '😀', 'a\u0000', 'a\ud800', text(256), ...notStrings],
}
const documents = {
  accepted: [
    '529.982.247-25',
    '52998224725',
    '11.222.333/0001-81',
    '11222333000181',
    '12.ABC.345/01DE-35',
    '12ABC34501DE35',
    '12abc34501de35',
  ],
  refused: [
    undefined,
    '',
    '529.982.247-26',
    '11111111111',
    '5299822472',
    '12.ABC.345/01DE-36',
    '12ABC34501DEAB',
    '529 982 247 25',
    'x52998224725',
    52998224725,
    null,
  ],
}

const urls = {
  accepted: [
    undefined,
    'https://shop.example.com',
    'https://shop.example.com:8443/a/b?c=d&e=%20',
    'https://xn--caf-dma.example',
    `https://a.example/${text(2048 - 18)}`,
  ],
  refused: [
    '',
    'shop.example.com',
    'ftp://shop.example.com',
    'http://shop.example.com',
    'https://',
    'https://a.example/#top',
    'https://user:pass@a.example',
    'https://a b.example',
    'https://169.254.169.254/',
    `https://a.example/${text(2049 - 18)}`,
    ...notStrings,
  ],
}

/**
 * Valid and invalid values of every field of `POST /transaction` in the API reference. `undefined` among the invalid
 * ones means that the field is required.
 */
const rows: { field: string; accepted: unknown[]; refused: unknown[] }[] = [
  { field: 'amount', accepted: [1, 10_000_000], refused: [undefined, 0, 10_000_001, ...notIntegers] },
  { field: 'paymentMethod', accepted: ['PIX'], refused: [undefined, 'pix', 'BOLETO', '', ...notStrings] },
  { field: 'webhookUrl', ...urls },
  { field: 'returnUrl', ...urls },
  { field: 'externalCode', ...optional(lengths(8, 255)) },
  { field: 'idempotencyKey', ...optional(lengths(8, 255)) },
  { field: 'customer', accepted: [undefined], refused: notObjects },
  {
    field: 'customer.ip',
    accepted: [undefined, '203.0.113.7', '2001:db8::1', '::ffff:1.2.3.4'],
    refused: ['', '1.2.3', '256.1.1.1', '01.2.3.4', '1.2.3.4/8', '2001:db8:::1', 'localhost', ...notStrings],
  },
  { field: 'customer.name', ...names },
  { field: 'customer.document', ...documents },
  {
    field: 'customer.email',
    accepted: ['a@b.co', 'Maria.Silva+pix@sub.example.com', `${text(242)}@example.com`],
    refused: [
      undefined,
      '',
      'a',
      'a@',
      '@b.co',
      'a@b',
      'a b@c.co',
      'a@b.co\n',
      'a@@b.co',
      `${text(243)}@example.com`,
      ...notStrings,
    ],
  },
  {
    field: 'customer.landline',
    accepted: [undefined, '(11) 3333-4444', '1133334444', '+55 11 3333-4444'],
    refused: ['', '3333-4444', '(11) 98765-4321', '(10) 3333-4444', 'call me', ...notStrings],
  },
  {
    field: 'customer.mobilePhone',
    accepted: [undefined, '(11) 98765-4321', '11987654321', '+5511987654321'],
    refused: ['', '98765-4321', '(11) 3333-4444', '(10) 98765-4321', '119876543210000', ...notStrings],
  },
  {
    field: 'customer.birthdate',
    accepted: [undefined, '1990-12-31', '2000-02-29'],
    refused: ['', '1990-02-30', '1900-02-29', '31/12/1990', '1990-12-31T00:00:00Z', '90-12-31', ...notStrings],
  },
  { field: 'seller', accepted: [undefined], refused: notObjects },
  { field: 'seller.name', ...names },
  { field: 'seller.document', ...documents },
  { field: 'isInfoProduct', accepted: [undefined, true, false], refused: ['true', 1, 0, null] },
  { field: 'address', accepted: [], refused: [undefined, ...notObjects] },
  {
    field: 'address.zipCode',
    accepted: ['01310-100', '01310100'],
    refused: [undefined, '', '0131-0100', '01310-10', '013101000', '01310 100', 1310100, null],
  },
  {
    field: 'address.complement',
    accepted: [undefined, ...lengths(2, 150).accepted],
    refused: lengths(2, 150).refused,
  },
  {
    field: 'address.number',
    accepted: ['1', '0123456789'],
    refused: [undefined, '', '12345678901', 'S/N', '12a', '-1', '1.5', '١٢', 1578, null],
  },
  ...(
    [
      ['address.street', 200],
      ['address.neighborhood', 100],
      ['address.city', 100],
      ['address.state', 50],
      ['address.country', 60],
      ['items[0].title', 150],
    ] as const
  ).map(([field, max]) => {
    const { accepted, refused } = lengths(2, max)
    return { field, accepted, refused: [undefined, ...refused] }
  }),
  {
    field: 'items',
    accepted: [undefined, [], Array.from({ length: 100 }, () => ({ title: 'One', unitPrice: 1 }))],
    refused: [null, {}, 'text', Array.from({ length: 101 }, () => ({ title: 'One', unitPrice: 1 }))],
  },
  { field: 'items[0]', accepted: [], refused: notObjects },
  {
    field: 'items[0].description',
    accepted: [undefined, ...lengths(2, 255).accepted],
    refused: lengths(2, 255).refused,
  },
  { field: 'items[0].unitPrice', accepted: [1, 10_000_000], refused: [undefined, 0, 10_000_001, ...notIntegers] },
  { field: 'items[0].quantity', accepted: [undefined, 1, 100], refused: [0, 101, ...notIntegers] },
  {
    field: 'description',
    accepted: [undefined, ...lengths(1, 140).accepted, '<b>日本語 ☕ “!”</b>'],
    refused: lengths(1, 140).refused,
  },
  { field: 'metadata', accepted: [undefined, {}, { any: ['thing', 1.5, null, { of: true }] }], refused: notObjects },
  { field: 'pix', accepted: [{}], refused: [undefined, ...notObjects] },
  { field: 'pix.expirationSeconds', accepted: [undefined, 60, 86_400], refused: [59, 86_401, ...notIntegers] },
]

/** {@link rows}, where null is accepted for each optional field: it means the same as leaving the field out. */
export const transactionFields = rows.map(({ field, accepted, refused }) =>
  accepted.includes(undefined)
    ? { field, accepted: [...accepted, null], refused: refused.filter((value) => value !== null) }
    : { field, accepted, refused },
)
