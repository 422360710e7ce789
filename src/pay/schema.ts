import { Type } from 'typebox'
import { Nullable } from '../http/schemas.ts'

export const PaymentLinkView = Type.Object(
  {
    url: Type.String({ description: 'Send the customer here; whoever has the address can see the page' }),
    expiresAt: Nullable(
      'string',
      'When its code expires; the page continues to show the state of the payment. Null while there is no code',
      'date-time',
    ),
  },
  {
    title: 'PaymentLink',
    description: 'The page where a customer pays a transaction',
    examples: [
      {
        url: 'https://pix.example.com/pay/C388DlxhS16aDToflOCg0kq0sd3WmYQ7hEo2dBv6Jhc',
        expiresAt: '2026-11-21T12:30:00.000Z',
      },
    ],
  },
)

export const PayParams = Type.Object({ token: Type.String() })
