<?php

// Prints what the PHP SDK makes of the answers of a service of another version, for versions.test.ts.

declare(strict_types=1);

[, $autoload, $baseUrl, $secret, $webhook] = $argv;
require $autoload;

use Guiche\Exception\GuicheException;
use Guiche\FeedEvent;
use Guiche\Guiche;
use Guiche\Types\Transaction;
use Guiche\Webhook;

$guiche = new Guiche($baseUrl, 'a-shop', 'a-secret', maxRetries: 0);
$transaction = $guiche->transactions->get('an-id');
$page = $guiche->transactions->list()->page();
$feed = $guiche->events->read(['after' => 'start']);
['headers' => $headers, 'body' => $body] = json_decode($webhook, true);
$event = Webhook::verify($secret, $headers, $body);
try {
    $guiche->transactions->refund('an-id');
    $refusal = null;
} catch (GuicheException $error) {
    $refusal = [$error->errorCode, $error->status, array_map(static fn ($one) => [$one->field, $one->code ?? null], $error->errors)];
}
echo json_encode([
    'fetched' => [
        $transaction->status,
        $transaction->amount,
        $transaction->updatedAt ?? null,
        $transaction->amountPaid,
        array_map(static fn ($one) => $one->status, $transaction->disputes ?? []),
        $transaction->toArray()['priority'] ?? null,
    ],
    'created' => [$guiche->transactions->create(['amount' => 2590])->id, $guiche->withdrawals->create(['amount' => 100])->hold ?? null],
    'listed' => array_map(static fn (Transaction $one) => $one->status, $page->data),
    'fed' => array_map(static fn (FeedEvent $one) => [$one->type, $one->toArray()['data']['id'], $one->position], $feed->data),
    'verified' => [$event->type, $event->toArray()['data']['id']],
    'waited' => $guiche->transactions->waitFor('an-id', 'SETTLED', timeoutMs: 5_000)->status,
    'refused' => $refusal,
]);
