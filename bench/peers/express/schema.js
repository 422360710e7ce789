import { z } from 'zod'
import { isDocument } from './documents.js'

const name = z.string().min(1).max(255)
const document = z.string().refine(isDocument, 'must be a valid CPF or CNPJ')
const cents = z.number().int().min(1).max(10_000_000)

export const createTransaction = z
  .object({
    amount: cents,
    paymentMethod: z.literal('PIX'),
    webhookUrl: z.url().optional(),
    externalCode: z.string().min(1).max(255).optional(),
    idempotencyKey: z.string().min(1).max(255).optional(),
    customer: z
      .object({
        ip: z.union([z.ipv4(), z.ipv6()]).optional(),
        name,
        document,
        email: z.email().max(254),
        landline: z.string().max(30).optional(),
        mobilePhone: z.string().max(30).optional(),
        birthdate: z.iso.date().optional(),
      })
      .optional(),
    seller: z.object({ name, document }).optional(),
    isInfoProduct: z.boolean().default(true),
    address: z
      .object({
        zipCode: z.string().regex(/^\d{5}-?\d{3}$/),
        complement: z.string().min(2).max(150).optional(),
        number: z.string().regex(/^\d{1,10}$/),
        street: z.string().min(2).max(200),
        neighborhood: z.string().min(2).max(100),
        city: z.string().min(2).max(100),
        state: z.string().min(2).max(50),
        country: z.string().min(2).max(60),
      })
      .optional(),
    items: z
      .array(
        z.object({
          title: z.string().min(2).max(150),
          description: z.string().min(2).max(255).optional(),
          unitPrice: cents,
          quantity: z.number().int().min(1).max(100).default(1),
        }),
      )
      .max(100)
      .optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    pix: z.object({ expirationSeconds: z.number().int().min(60).max(86_400).default(1800) }),
  })
  .refine((body) => body.isInfoProduct || body.address !== undefined, 'a physical product needs an address')
