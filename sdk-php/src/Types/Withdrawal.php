<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** Money sent to a PIX key. Amounts are in cents, dates in ISO 8601. */
final class Withdrawal extends Model
{
    /** Identifier. */
    public readonly string $id;
    public readonly string $acquirer;
    /** Cents. */
    public readonly int $amount;
    /** @var 'PIX' */
    public readonly string $method;
    public readonly ?string $webhookUrl;
    public readonly ?string $externalCode;
    /** @var null|array<string, mixed> */
    public readonly ?array $metadata;
    /** Creation. */
    public readonly string $createdAt;
    /** @var 'PENDING'|'PROCESSING'|'PROCESSED'|'FAILED'|'CANCELED'|'REFUNDED'|'REJECTED' The status of a withdrawal. */
    public readonly string $status;
    /** @var null|'approval'|'duplicate' Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate). */
    public readonly ?string $hold;
    /** @var list<WithdrawalStatusEntry> */
    public readonly array $statusHistory;
    /** Last change. */
    public readonly string $updatedAt;
    /** Cents sent. */
    public readonly ?int $amountWithdrawn;
    /** When the bank executed it. */
    public readonly ?string $processedDate;
    /** Why it failed, was rejected or was returned. */
    public readonly ?string $errorMessage;
    /** EndToEndId of the Pix. */
    public readonly ?string $endToEnd;
    /** The person or company that paid or was paid. */
    public readonly ?AccountHolder $payer;
    /** The person or company that paid or was paid. */
    public readonly ?AccountHolder $receiver;
    /** A PIX key: the address of an account. */
    public readonly ?PixKey $pixKey;
    /** Fee in cents, on top of the amount; returned if the withdrawal is not sent. */
    public readonly ?int $feeAmount;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['acquirer'])) {
            $this->acquirer = $data['acquirer'];
        }
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['method'])) {
            $this->method = $data['method'];
        }
        $this->webhookUrl = $data['webhookUrl'] ?? null;
        $this->externalCode = $data['externalCode'] ?? null;
        $this->metadata = $data['metadata'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        $this->hold = $data['hold'] ?? null;
        if (isset($data['statusHistory'])) {
            $this->statusHistory = array_map(WithdrawalStatusEntry::from(...), $data['statusHistory']);
        }
        if (isset($data['updatedAt'])) {
            $this->updatedAt = $data['updatedAt'];
        }
        $this->amountWithdrawn = $data['amountWithdrawn'] ?? null;
        $this->processedDate = $data['processedDate'] ?? null;
        $this->errorMessage = $data['errorMessage'] ?? null;
        $this->endToEnd = $data['endToEnd'] ?? null;
        $this->payer = isset($data['payer']) ? AccountHolder::from($data['payer']) : null;
        $this->receiver = isset($data['receiver']) ? AccountHolder::from($data['receiver']) : null;
        $this->pixKey = isset($data['pixKey']) ? PixKey::from($data['pixKey']) : null;
        $this->feeAmount = $data['feeAmount'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
