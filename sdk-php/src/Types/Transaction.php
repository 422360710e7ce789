<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A charge by PIX. Amounts are in cents, dates in ISO 8601. */
final class Transaction extends Model
{
    /** Identifier. */
    public readonly string $id;
    public readonly string $acquirer;
    /** Cents. */
    public readonly int $amount;
    /** @var 'PIX' */
    public readonly string $paymentMethod;
    public readonly ?string $webhookUrl;
    /** As in the request. */
    public readonly ?string $returnUrl;
    public readonly ?string $externalCode;
    /** The customer. */
    public readonly ?Customer $customer;
    /** The seller. */
    public readonly ?Seller $seller;
    public readonly bool $isInfoProduct;
    /** The delivery address of a physical product. */
    public readonly ?Address $address;
    /** @var null|list<Item> */
    public readonly ?array $items;
    /** As in the request. */
    public readonly ?string $description;
    /** @var null|array<string, mixed> */
    public readonly ?array $metadata;
    /** Creation. */
    public readonly string $createdAt;
    /** @var 'PENDING'|'PIX_QRCODE_GENERATED'|'PAID'|'PROCESSING_REFUND'|'PROCESSING_INFRACTION'|'REFUNDED'|'INFRACTION'|'FAILED'|'BLOCKED' The status of a transaction. */
    public readonly string $status;
    /** @var list<TransactionStatusEntry> */
    public readonly array $statusHistory;
    /** Last change. */
    public readonly string $updatedAt;
    /** Cents received. */
    public readonly ?int $amountPaid;
    /** Cents refunded; present once paid. */
    public readonly ?int $amountRefunded;
    /** @var null|list<Refund> In the order of their requests; present once paid. */
    public readonly ?array $refunds;
    /** Cents returned other than by refunds: under MED, or by the bank; present once paid. */
    public readonly ?int $amountReturned;
    /** @var null|list<Dispute> Disputes (MED), the oldest first; present once paid. */
    public readonly ?array $disputes;
    /** @var null|list<PaymentReturn> Returns other than refunds; present once paid. */
    public readonly ?array $returns;
    /** When the payer paid. */
    public readonly ?string $paymentDate;
    /** When a dispute (MED) was opened. */
    public readonly ?string $infractionDate;
    /** The code of a transaction. All three fields are null if the acquirer has given no code. */
    public readonly PixCodeIfAny $pixResponse;
    /** Why it failed, or why a refund was refused. */
    public readonly ?string $errorMessage;
    /** @var null|'expired'|'removed'|'canceled'|'refused' Why the status is FAILED, as a code to compare; `refused`: the acquirer refused the charge, and `errorMessage` has its reason. */
    public readonly ?string $failureCode;
    /** EndToEndId of the Pix. */
    public readonly ?string $endToEnd;
    /** The person or company that paid or was paid. */
    public readonly ?AccountHolder $payer;
    /** The person or company that paid or was paid. */
    public readonly ?AccountHolder $receiver;
    /** Cents. */
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
        if (isset($data['paymentMethod'])) {
            $this->paymentMethod = $data['paymentMethod'];
        }
        $this->webhookUrl = $data['webhookUrl'] ?? null;
        $this->returnUrl = $data['returnUrl'] ?? null;
        $this->externalCode = $data['externalCode'] ?? null;
        $this->customer = isset($data['customer']) ? Customer::from($data['customer']) : null;
        $this->seller = isset($data['seller']) ? Seller::from($data['seller']) : null;
        if (isset($data['isInfoProduct'])) {
            $this->isInfoProduct = $data['isInfoProduct'];
        }
        $this->address = isset($data['address']) ? Address::from($data['address']) : null;
        $this->items = isset($data['items']) ? array_map(Item::from(...), $data['items']) : null;
        $this->description = $data['description'] ?? null;
        $this->metadata = $data['metadata'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        if (isset($data['statusHistory'])) {
            $this->statusHistory = array_map(TransactionStatusEntry::from(...), $data['statusHistory']);
        }
        if (isset($data['updatedAt'])) {
            $this->updatedAt = $data['updatedAt'];
        }
        $this->amountPaid = $data['amountPaid'] ?? null;
        $this->amountRefunded = $data['amountRefunded'] ?? null;
        $this->refunds = isset($data['refunds']) ? array_map(Refund::from(...), $data['refunds']) : null;
        $this->amountReturned = $data['amountReturned'] ?? null;
        $this->disputes = isset($data['disputes']) ? array_map(Dispute::from(...), $data['disputes']) : null;
        $this->returns = isset($data['returns']) ? array_map(PaymentReturn::from(...), $data['returns']) : null;
        $this->paymentDate = $data['paymentDate'] ?? null;
        $this->infractionDate = $data['infractionDate'] ?? null;
        if (isset($data['pixResponse'])) {
            $this->pixResponse = PixCodeIfAny::from($data['pixResponse']);
        }
        $this->errorMessage = $data['errorMessage'] ?? null;
        $this->failureCode = $data['failureCode'] ?? null;
        $this->endToEnd = $data['endToEnd'] ?? null;
        $this->payer = isset($data['payer']) ? AccountHolder::from($data['payer']) : null;
        $this->receiver = isset($data['receiver']) ? AccountHolder::from($data['receiver']) : null;
        $this->feeAmount = $data['feeAmount'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
