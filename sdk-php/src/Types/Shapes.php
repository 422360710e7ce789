<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/**
 * What a caller sends, for editors and PHPStan.
 *
 * @phpstan-type CreateTransactionBody array{
 *   amount: int,
 *   paymentMethod?: 'PIX',
 *   webhookUrl?: string,
 *   returnUrl?: string,
 *   externalCode?: string,
 *   idempotencyKey?: string,
 *   customer?: array{
 *     ip?: string,
 *     name: string,
 *     document: string,
 *     email: string,
 *     landline?: string,
 *     mobilePhone?: string,
 *     birthdate?: string,
 *   },
 *   seller?: array{
 *     name: string,
 *     document: string,
 *   },
 *   isInfoProduct?: bool,
 *   address?: array{
 *     zipCode: string,
 *     complement?: string,
 *     number: string,
 *     street: string,
 *     neighborhood: string,
 *     city: string,
 *     state: string,
 *     country: string,
 *   },
 *   items?: list<array{
 *     title: string,
 *     description?: string,
 *     unitPrice: int,
 *     quantity?: int,
 *   }>,
 *   description?: string,
 *   metadata?: array<string, mixed>,
 *   pix?: array{
 *     expirationSeconds?: int,
 *   },
 * }
 * @phpstan-type RefundBody array{
 *   amount?: int,
 *   reason?: string,
 *   idempotencyKey?: string,
 * }
 * @phpstan-type CreateWithdrawalBody array{
 *   amount: int,
 *   method?: 'PIX',
 *   pixKey: array{
 *     key: string,
 *     type: 'CPF'|'CNPJ'|'EMAIL'|'PHONE'|'EVP',
 *   },
 *   webhookUrl?: string,
 *   externalCode?: string,
 *   idempotencyKey?: string,
 *   metadata?: array<string, mixed>,
 * }
 * @phpstan-type SandboxPayment array{
 *   uri: string,
 *   amount?: int,
 *   payer?: array{
 *     type?: 'PF'|'PJ',
 *     name?: string,
 *     document?: string,
 *     pix?: array{
 *       key: string,
 *       type: 'CPF'|'CNPJ'|'EMAIL'|'PHONE'|'EVP',
 *     },
 *     bankAccount?: array{
 *       type?: string,
 *       branch?: string,
 *       number?: string,
 *       digit?: string,
 *       ispb?: string,
 *     },
 *   },
 *   behaviour?: 'honest'|'without_txid'|'slow'|'late'|'twice'|'other_amount'|'other_payer'|'returned'|'contested'|'callback_never'|'callback_twice'|'callback_late'|'callback_forged',
 * }
 * @phpstan-type SandboxInfraction array{
 *   endToEnd: string,
 *   amount?: int,
 *   reason?: 'fraud'|'operational_failure',
 * }
 * @phpstan-type SandboxReturn array{
 *   endToEnd: string,
 *   amount?: int,
 * }
 * @phpstan-type SandboxWithdrawalReturn array{
 *   amount?: int,
 * }
 * @phpstan-type SandboxPersonalityInput array{
 *   name: 'honest'|'forgetful'|'late'|'careless'|'forged'|'quarrelsome'|'hostile',
 *   seed?: int,
 *   traits?: array{
 *     without_txid?: int|float,
 *     slow?: int|float,
 *     late?: int|float,
 *     twice?: int|float,
 *     other_amount?: int|float,
 *     other_payer?: int|float,
 *     returned?: int|float,
 *     contested?: int|float,
 *     callback_never?: int|float,
 *     callback_twice?: int|float,
 *     callback_late?: int|float,
 *     callback_forged?: int|float,
 *     answer_lost?: int|float,
 *     payout_rejected?: int|float,
 *     return_rejected?: int|float,
 *   },
 * }
 * @phpstan-type TransactionFilters array{
 *   startDate?: string|\DateTimeInterface,
 *   endDate?: string|\DateTimeInterface,
 *   status?: list<'PENDING'|'PIX_QRCODE_GENERATED'|'PAID'|'PROCESSING_REFUND'|'PROCESSING_INFRACTION'|'REFUNDED'|'INFRACTION'|'FAILED'|'BLOCKED'>,
 *   customerEmail?: string,
 *   customerName?: string,
 *   customerDocument?: string,
 *   customerPhone?: string,
 *   id?: string,
 *   endToEnd?: string,
 *   endToEndRefund?: string,
 *   externalCode?: string,
 *   paymentMethod?: list<'PIX'>,
 *   minAmount?: int,
 *   maxAmount?: int,
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type WithdrawalFilters array{
 *   startDate?: string|\DateTimeInterface,
 *   endDate?: string|\DateTimeInterface,
 *   status?: list<'PENDING'|'PROCESSING'|'PROCESSED'|'FAILED'|'CANCELED'|'REFUNDED'|'REJECTED'>,
 *   id?: string,
 *   pixKey?: string,
 *   endToEnd?: string,
 *   endToEndRefund?: string,
 *   externalCode?: string,
 *   minAmount?: int,
 *   maxAmount?: int,
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type StatementFilters array{
 *   startDate?: string|\DateTimeInterface,
 *   endDate?: string|\DateTimeInterface,
 *   kind?: list<'payment'|'fee'|'debt_repaid'|'refund_reserved'|'refund_sent'|'refund_released'|'fee_returned'|'fee_return_reversed'|'infraction_blocked'|'infraction_returned'|'infraction_released'|'withdrawal_reserved'|'withdrawal_sent'|'withdrawal_released'|'withdrawal_returned'|'payment_held'|'held_returned'|'held_matched'|'match_undone'|'correction'|'fees_drawn'|'pay_in'|'debt_written_off'|'psp_fee'|'manual'|'moved_out'|'moved_in'>,
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type EventFilters array{
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type FeedQuery array{
 *   after?: string,
 *   limit?: int,
 *   wait?: int,
 *   type?: list<'transaction.pix_qrcode_generated'|'transaction.paid'|'transaction.processing_refund'|'transaction.processing_infraction'|'transaction.refunded'|'transaction.infraction'|'transaction.failed'|'transaction.blocked'|'withdrawal.processing'|'withdrawal.processed'|'withdrawal.failed'|'withdrawal.canceled'|'withdrawal.refunded'|'withdrawal.rejected'>,
 *   recordId?: string,
 *   startDate?: string|\DateTimeInterface,
 *   page?: int,
 *   cursor?: string,
 *   perPage?: int,
 * }
 * @phpstan-type CreateWebhookEndpointBody array{
 *   url: string,
 *   description?: string,
 *   eventTypes?: list<'transaction.pix_qrcode_generated'|'transaction.paid'|'transaction.processing_refund'|'transaction.processing_infraction'|'transaction.refunded'|'transaction.infraction'|'transaction.failed'|'transaction.blocked'|'withdrawal.processing'|'withdrawal.processed'|'withdrawal.failed'|'withdrawal.canceled'|'withdrawal.refunded'|'withdrawal.rejected'|'*'>,
 * }
 * @phpstan-type UpdateWebhookEndpointBody array{
 *   url?: string,
 *   description?: string,
 *   eventTypes?: list<'transaction.pix_qrcode_generated'|'transaction.paid'|'transaction.processing_refund'|'transaction.processing_infraction'|'transaction.refunded'|'transaction.infraction'|'transaction.failed'|'transaction.blocked'|'withdrawal.processing'|'withdrawal.processed'|'withdrawal.failed'|'withdrawal.canceled'|'withdrawal.refunded'|'withdrawal.rejected'|'*'>,
 *   enabled?: bool,
 * }
 * @phpstan-type WebhookEndpointFilters array{
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type DeliveryFilters array{
 *   state?: 'waiting'|'pending'|'delivered'|'exhausted'|'gone'|'canceled',
 *   recordId?: string,
 *   eventId?: string,
 *   endpointId?: string,
 *   page?: int,
 *   perPage?: int,
 *   cursor?: string,
 * }
 * @phpstan-type BalanceQuery array{
 *   at?: string|\DateTimeInterface,
 * }
 */
final class Shapes
{
}
