<?php

declare(strict_types=1);

namespace Guiche\Testing;

use Guiche\WebhookEvent;

/** Events as Guichê would send them, of made-up records. */
final class TestEvent
{
    private const AMOUNT = 2590;
    private const BEFORE_PAYMENT = ['PENDING', 'PIX_QRCODE_GENERATED'];
    /** The statuses that a transaction has before each one. */
    private const STATUSES_BEFORE = [
        'PENDING' => [],
        'PIX_QRCODE_GENERATED' => ['PENDING'],
        'FAILED' => self::BEFORE_PAYMENT,
        'PAID' => self::BEFORE_PAYMENT,
        'PROCESSING_REFUND' => [...self::BEFORE_PAYMENT, 'PAID'],
        'REFUNDED' => [...self::BEFORE_PAYMENT, 'PAID', 'PROCESSING_REFUND'],
        'BLOCKED' => [...self::BEFORE_PAYMENT, 'PAID'],
        'PROCESSING_INFRACTION' => [...self::BEFORE_PAYMENT, 'PAID', 'BLOCKED'],
        // The bank returns the payment under MED, and no dispute was opened first.
        'INFRACTION' => [...self::BEFORE_PAYMENT, 'PAID'],
    ];
    private const DISPUTE_STATUSES = ['BLOCKED' => 'OPEN', 'PROCESSING_INFRACTION' => 'ACCEPTED', 'INFRACTION' => 'RETURNED'];

    /**
     * `data` sets the fields that matter to the test.
     *
     * ```php
     * $event = TestEvent::create('transaction.paid', ['amount' => 2590, 'externalCode' => 'order-2026-0001']);
     * ```
     *
     * @param array<string, mixed> $data
     */
    public static function create(string $type, array $data = []): WebhookEvent
    {
        [$record, $status] = explode('.', strtoupper($type), 2) + [1 => ''];
        $amount = $data['amount'] ?? self::AMOUNT;
        $made = match ($record) {
            'TRANSACTION' => self::makeTransaction($status, $amount),
            'WITHDRAWAL' => self::makeWithdrawal($status, $amount),
            default => throw new \InvalidArgumentException('The type of an event is such as "transaction.paid" or "withdrawal.processed".'),
        };
        return WebhookEvent::from([
            'id' => self::uuid(),
            'type' => $type,
            'timestamp' => self::now(),
            'data' => [...$made, 'sequence' => count($made['statusHistory']) - 1, ...$data],
        ]);
    }

    /** @return array<string, mixed> */
    private static function makeTransaction(string $status, int $amount): array
    {
        $path = [...self::STATUSES_BEFORE[$status] ?? [], $status];
        $disputes = self::makeDisputes($status, $amount);
        return [
            'id' => self::uuid(),
            'acquirer' => 'simulator',
            'amount' => $amount,
            'paymentMethod' => 'PIX',
            'isInfoProduct' => true,
            ...self::history($path),
            ...(in_array('PAID', $path, true) ? [
                'amountPaid' => $amount,
                'amountRefunded' => $status === 'REFUNDED' ? $amount : 0,
                'refunds' => in_array($status, ['REFUNDED', 'PROCESSING_REFUND'], true) ? [self::makeRefund($status, $amount)] : [],
                'amountReturned' => $status === 'INFRACTION' ? $amount : 0,
                'disputes' => $disputes,
                'returns' => $status === 'INFRACTION' ? [self::makeReturn($disputes[0]['id'], $amount)] : [],
                'paymentDate' => self::now(),
                'endToEnd' => self::endToEnd(),
                'payer' => [
                    'type' => 'PF',
                    'name' => 'Maria da Silva',
                    'document' => '52998224725',
                    'bankAccount' => ['type' => 'CACC', 'branch' => '0001', 'number' => '123456', 'digit' => '7', 'ispb' => '60701190'],
                    'pix' => ['key' => 'maria@example.com', 'type' => 'EMAIL'],
                ],
            ] : []),
            'infractionDate' => $disputes[0]['openedAt'] ?? null,
            'pixResponse' => [
                'uri' => '00020101021226580014br.gov.bcb.pix2536pix.example.com/qr/v2/not-to-be-paid5204000053039865802BR5904LOJA6009SAO PAULO62070503***6304C0DE',
                'qrCodeBase64' => 'data:image/png;base64,iVBORw0KGgo=',
                // A code that was not paid fails five minutes after its expiry.
                'expirationDate' => self::now($status === 'FAILED' ? -300 : 1800),
            ],
            'errorMessage' => $status === 'FAILED' ? 'PIX QR code expired' : null,
            ...($status === 'FAILED' ? ['failureCode' => 'expired'] : []),
        ];
    }

    /** @return array<string, mixed> */
    private static function makeRefund(string $status, int $amount): array
    {
        $isDone = $status === 'REFUNDED';
        return [
            'id' => self::uuid(),
            'amount' => $amount,
            'status' => $isDone ? 'REFUNDED' : 'PROCESSING',
            'endToEndRefund' => $isDone ? self::returnId() : null,
            'reason' => null,
            'createdAt' => self::now(),
        ];
    }

    /**
     * The dispute behind the status, if any. INFRACTION has one too: it is recorded for a return without a dispute.
     *
     * @return list<array<string, mixed>>
     */
    private static function makeDisputes(string $transactionStatus, int $amount): array
    {
        $status = self::DISPUTE_STATUSES[$transactionStatus] ?? null;
        if ($status === null) {
            return [];
        }
        $isReturned = $status === 'RETURNED';
        return [[
            'id' => self::uuid(),
            'amount' => $amount,
            'amountReturned' => $isReturned ? $amount : 0,
            'amountBlocked' => $isReturned ? 0 : $amount,
            'status' => $status,
            'reason' => $isReturned ? null : 'Made up for a test',
            'openedAt' => self::now(),
            'deadline' => null,
            'finishedAt' => $isReturned ? self::now() : null,
        ]];
    }

    /** @return array<string, mixed> */
    private static function makeReturn(string $disputeId, int $amount): array
    {
        return ['endToEndRefund' => self::returnId(), 'amount' => $amount, 'disputeId' => $disputeId, 'date' => self::now()];
    }

    /** @return array<string, mixed> */
    private static function makeWithdrawal(string $status, int $amount): array
    {
        $hasLeft = in_array($status, ['PROCESSED', 'REFUNDED'], true);
        $steps = $status === 'REFUNDED' ? 3 : (in_array($status, ['CANCELED', 'REJECTED', 'PROCESSING'], true) ? 1 : 2);
        return [
            'id' => self::uuid(),
            'acquirer' => 'simulator',
            'amount' => $amount,
            'method' => 'PIX',
            ...self::history([...array_slice(['PENDING', 'PROCESSING', 'PROCESSED'], 0, $steps), $status]),
            ...($hasLeft ? ['amountWithdrawn' => $amount, 'processedDate' => self::now(), 'endToEnd' => self::endToEnd()] : []),
            'errorMessage' => in_array($status, ['FAILED', 'REJECTED', 'REFUNDED'], true) ? 'Made up for a test' : null,
            'pixKey' => ['key' => '+5511987654321', 'type' => 'PHONE'],
        ];
    }

    /**
     * Statuses one second apart, up to the current one.
     *
     * @param list<string> $statuses
     * @return array<string, mixed>
     */
    private static function history(array $statuses): array
    {
        $last = count($statuses) - 1;
        return [
            'status' => $statuses[$last],
            'createdAt' => self::now(-$last),
            'updatedAt' => self::now(),
            'statusHistory' => array_map(static fn (int $index, string $status): array => [
                'status' => $status,
                'date' => self::now($index - $last),
                'durationInMilliseconds' => $index === $last ? null : 1000,
            ], array_keys($statuses), $statuses),
        ];
    }

    private static function now(int $moreSeconds = 0): string
    {
        return gmdate('Y-m-d\TH:i:s.000\Z', time() + $moreSeconds);
    }

    private static function endToEnd(): string
    {
        return 'E60701190' . gmdate('YmdHi') . substr(bin2hex(random_bytes(6)), 0, 11);
    }

    private static function returnId(): string
    {
        return 'D' . substr(self::endToEnd(), 1);
    }

    private static function uuid(): string
    {
        $hex = bin2hex(random_bytes(16));
        $hex[12] = '4';
        $hex[16] = '89ab'[random_int(0, 3)];
        return implode('-', [substr($hex, 0, 8), substr($hex, 8, 4), substr($hex, 12, 4), substr($hex, 16, 4), substr($hex, 20)]);
    }
}
