<?php

declare(strict_types=1);

use Guiche\Guiche;
use Guiche\Types\Transaction;
use Guiche\WebhookEvent;

/**
 * The orders of the shop, one file each; a real shop has a table. An order is changed under a lock, so that a webhook that
 * arrives twice, or during a request, changes it once.
 */
final class Orders
{
    public function __construct(private readonly string $folder, private readonly Guiche $guiche, private readonly string $shopUrl)
    {
        if (!is_dir($folder)) {
            mkdir($folder, 0700, true);
        }
    }

    /** @return array<string, mixed> */
    public function create(int $total): array
    {
        $order = ['id' => bin2hex(random_bytes(8)), 'total' => $total, 'isPaid' => false, 'sequence' => 0, 'transactionId' => null, 'pix' => null];
        file_put_contents($this->path($order['id']), json_encode($order));
        return $order;
    }

    /** @return null|array<string, mixed> */
    public function find(string $id): ?array
    {
        return is_file($this->path($id)) ? $this->change($id, static fn (array $order): array => $order) : null;
    }

    /**
     * Creates the charge of an order, once. The order is stored before, and its key is the same each time: a request that
     * was lost, or a customer who loads the page twice, makes no second charge.
     *
     * @return array<string, mixed>
     */
    public function charge(string $id): array
    {
        $order = $this->find($id) ?? throw new OutOfBoundsException('There is no such order.');
        if ($order['transactionId'] !== null) {
            return $order;
        }
        $created = $this->guiche->transactions->create([
            'amount' => $order['total'],
            'externalCode' => "pedido-$id",
            'idempotencyKey' => "pedido-$id-tentativa-1",
            'webhookUrl' => "$this->shopUrl/webhooks/pix",
            // Where the payment page leads back to. The visit proves nothing: the webhook does.
            'returnUrl' => "$this->shopUrl/orders/$id",
        ]);
        return $this->change($id, static fn (array $order): array => [
            ...$order,
            'transactionId' => $created->id,
            'pix' => ['uri' => $created->pixResponse->uri, 'qrCodeBase64' => $created->pixResponse->qrCodeBase64, 'page' => $created->paymentUrl],
        ]);
    }

    /** Applies a verified event: nothing twice, nothing stale, nothing of another order, and only the whole amount pays. */
    public function apply(WebhookEvent $event): void
    {
        $transaction = $event->data;
        if (!$transaction instanceof Transaction || preg_match('/^pedido-([0-9a-f]{16})$/', $transaction->externalCode ?? '', $found) !== 1) {
            return;
        }
        if (!is_file($this->path($found[1]))) {
            return;
        }
        $this->change($found[1], static function (array $order) use ($event, $transaction): array {
            // The webhook may arrive before the answer to the create.
            $isOfOrder = in_array($order['transactionId'], [null, $transaction->id], true);
            if (!$isOfOrder || $event->sequence <= $order['sequence']) {
                return $order;
            }
            $isPaid = $event->type === 'transaction.paid' && $transaction->amountPaid >= $order['total'];
            // `transaction.paid` comes again, for example after a partial refund or a rejected dispute.
            if ($isPaid && !$order['isPaid']) {
                error_log("ship {$order['id']}");
            }
            return [...$order, 'sequence' => $event->sequence, 'isPaid' => $order['isPaid'] || $isPaid];
        });
    }

    /**
     * @param callable(array<string, mixed>): array<string, mixed> $change
     * @return array<string, mixed>
     */
    private function change(string $id, callable $change): array
    {
        $file = fopen($this->path($id), 'r+');
        flock($file, LOCK_EX);
        $order = json_decode((string) stream_get_contents($file), true, 512, JSON_THROW_ON_ERROR);
        $changed = $change($order);
        if ($changed !== $order) {
            rewind($file);
            ftruncate($file, 0);
            fwrite($file, (string) json_encode($changed));
        }
        fclose($file);
        return $changed;
    }

    private function path(string $id): string
    {
        return "$this->folder/$id.json";
    }
}
