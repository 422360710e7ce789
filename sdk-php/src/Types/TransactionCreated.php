<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The answer to a create. */
final class TransactionCreated extends Model
{
    /** Identifier of the transaction. */
    public readonly string $id;
    public readonly ?string $externalCode;
    /** Cents. */
    public readonly int $amount;
    /** @var 'TRANSACTION' */
    public readonly string $type;
    /** @var 'PIX_QRCODE_GENERATED' */
    public readonly string $status;
    /** The code that a payer pays: as text to copy, and as a QR image. */
    public readonly PixCode $pixResponse;
    /** The payment page of this transaction: send the customer there. Its address does not change. */
    public readonly string $paymentUrl;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        $this->externalCode = $data['externalCode'] ?? null;
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        if (isset($data['pixResponse'])) {
            $this->pixResponse = PixCode::from($data['pixResponse']);
        }
        if (isset($data['paymentUrl'])) {
            $this->paymentUrl = $data['paymentUrl'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
