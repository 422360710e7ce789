<?php

// A shop on the PHP SDK: charges, refunds, withdrawals, disputes, lists and refusals, with each webhook verified. It
// prints what it has seen, one fact a line.

declare(strict_types=1);

require $argv[1];

use Guiche\Exception\AuthenticationException;
use Guiche\Exception\GuicheException;
use Guiche\Exception\IdempotencyKeyReusedException;
use Guiche\Exception\NotFoundException;
use Guiche\Exception\ValidationException;
use Guiche\Guiche;
use Guiche\Testing\WebhookReceiver;
use Guiche\Types\Transaction;
use Guiche\Types\TransactionStatus;
use Guiche\WebhookEvent;

[$url, $id, $secret] = [getenv('GUICHE_URL'), getenv('GUICHE_CLIENT_ID'), getenv('GUICHE_CLIENT_SECRET')];
$guiche = new Guiche($url, $id, $secret);
$receiver = new WebhookReceiver(getenv('GUICHE_WEBHOOK_SECRET'));
$say = static fn (string ...$facts) => print(implode(' ', $facts) . "\n");
$refusal = static function (callable $call): GuicheException {
    try {
        $call();
    } catch (GuicheException $error) {
        return $error;
    }
    throw new LogicException('It was accepted.');
};

// Create, pay, and receive the event.
$order = ['amount' => 90_000, 'externalCode' => 'order-php-1', 'idempotencyKey' => 'order-php-1-try-1', 'webhookUrl' => $receiver->url];
$created = $guiche->transactions->create($order);
$say('created', $created->status, substr($created->pixResponse->uri, 0, 6));
$say('replayed', $guiche->transactions->create($order)->id === $created->id ? 'the same' : 'another');
$guiche->sandbox->pay(['uri' => $created->pixResponse->uri]);
$ofOrder = static fn (WebhookEvent $event): bool => $event->data?->id === $created->id;
$paid = $receiver->waitFor('transaction.paid', $ofOrder);
$say('webhook', $paid->type, (string) $paid->data->amountPaid, $paid->data->endToEnd === null ? 'without id' : 'with id');
$say('status', $guiche->transactions->waitFor($created->id, TransactionStatus::PAID)->status);
$say('link', str_starts_with($guiche->transactions->paymentLink($created->id)->url, $url) ? 'here' : 'elsewhere');

// Refund a part.
$refund = $guiche->transactions->refund($created->id, ['amount' => 590, 'reason' => 'One was broken']);
$refunded = $receiver->waitFor('transaction.paid', static fn (WebhookEvent $event): bool => $ofOrder($event) && $event->sequence > $paid->sequence);
$say('refund', $refund->status, $refunded->data->refunds[0]->status, (string) $refunded->data->amountRefunded);

// Pay out.
$withdrawal = $guiche->withdrawals->create(['amount' => 1500, 'pixKey' => ['key' => '+5511987654321', 'type' => 'PHONE'], 'webhookUrl' => $receiver->url]);
$sent = $receiver->waitFor('withdrawal.processed', static fn (WebhookEvent $event): bool => $event->data?->id === $withdrawal->id);
$say('withdrawal', $withdrawal->status, $sent->data->status, (string) $sent->data->amountWithdrawn);
$second = $guiche->withdrawals->create(['amount' => 1500, 'pixKey' => ['key' => '+5511987654321', 'type' => 'PHONE']]);
$say('second', (string) $second->hold, $guiche->withdrawals->cancel($second->id)->status, $guiche->withdrawals->get($second->id)->status);
$third = $guiche->withdrawals->create(['amount' => 1500, 'pixKey' => ['key' => '+5511987654321', 'type' => 'PHONE']]);
$say('third', $guiche->withdrawals->confirm($third->id)->id === $third->id ? 'confirmed' : 'another');
$guiche->sandbox->returnWithdrawal($withdrawal->id, ['amount' => 500]);

// A dispute, and a return that nobody announces.
$disputed = $guiche->sandbox->openDispute(['endToEnd' => $paid->data->endToEnd]);
$receiver->waitFor('transaction.blocked', $ofOrder);
$guiche->sandbox->decide($disputed->reference, 'reject');
$free = $guiche->transactions->waitFor($created->id, static fn (Transaction $transaction): bool => ($transaction->disputes[0]->status ?? '') === 'REJECTED');
$say('dispute', $free->disputes[0]->status);
$guiche->sandbox->returnPayment(['endToEnd' => $paid->data->endToEnd, 'amount' => 100]);
$guiche->transactions->waitFor($created->id, static fn (Transaction $transaction): bool => $transaction->amountReturned === 100);

// Read.
[$entry] = $guiche->statement->list()->all(limit: 1);
$say('balance', $entry->balance === $guiche->balance->get()->available ? 'as in the statement' : 'another');
$say('then', (string) $guiche->balance->get(['at' => new DateTimeImmutable('-1 day')])->available);
$say('found', (string) $guiche->transactions->list(['externalCode' => 'order-php-1', 'status' => ['PAID', 'BLOCKED']])->page()->total);
$say('by person', (string) $guiche->transactions->list(['customerName' => 'nobody'])->page()->total, (string) $guiche->withdrawals->list(['pixKey' => 'nobody@example.com'])->page()->total);
$say('listed', implode(' ', array_map(static fn ($one) => $one->status, $guiche->withdrawals->list(['status' => ['CANCELED']])->all())));
foreach ([$guiche->transactions->export(), $guiche->withdrawals->export(), $guiche->statement->export(['kind' => ['payment']])] as $csv) {
    $say('csv', trim(strtok((string) fgets($csv), ',')));
}
$types = array_map(static fn ($event) => $event->type, [...$guiche->transactions->events($created->id), ...$guiche->withdrawals->events($withdrawal->id)]);
$say('events', count(array_intersect(['transaction.paid', 'withdrawal.processed'], $types)) === 2 ? 'of both' : 'missing');
$ids = array_map(static fn ($event) => $event->id, $guiche->events->list()->all());
$say('event', in_array($paid->id, $ids, true) ? 'listed' : 'missing');
$say('fetched', $guiche->events->get($paid->id)->type);
foreach ($guiche->events->follow(['type' => ['withdrawal.processed', 'transaction.paid']]) as $event) {
    $say('followed', $event->type, (string) $event->data->amount, $guiche->events->read(['after' => $event->position, 'limit' => 1])->hasMore ? 'and more' : 'the last');
    break;
}
[$delivery] = $guiche->deliveries->list(['eventId' => $paid->id])->all();
$say('delivery', $delivery->eventId === $paid->id ? 'listed' : 'missing', $guiche->deliveries->resend($paid->id)->eventId === $paid->id ? 'sent again' : 'not sent');
$say('personality', $guiche->sandbox->setPersonality(['name' => 'late', 'seed' => 7])->name, $guiche->sandbox->setPersonality(['name' => 'honest'])->name, $guiche->sandbox->personality()->name);
$say('clock', (string) $guiche->sandbox->advanceClock(60)->advancedSeconds);

// Refusals.
$invalid = $refusal(static fn () => $guiche->transactions->create(['amount' => 0, 'externalCode' => 'short']));
$say('invalid', $invalid::class === ValidationException::class ? implode(' ', array_map(static fn ($one) => $one->field, $invalid->errors)) : $invalid::class);
$reused = $refusal(static fn () => $guiche->transactions->create(['amount' => 1, 'idempotencyKey' => 'order-php-1-try-1']));
$say('reused', $reused instanceof IdempotencyKeyReusedException ? (string) $reused->idempotencyKey : $reused::class);
$missing = $refusal(static fn () => $guiche->transactions->get('00000000-0000-4000-8000-000000000000'));
$say('missing', $missing instanceof NotFoundException ? $missing->errorCode : $missing::class);
$elsewhere = $refusal(static fn () => $guiche->deliveries->resend($paid->id, endpointId: '00000000-0000-4000-8000-000000000000'));
$say('not sent to', $elsewhere->errorCode);
$unknown = $refusal(static fn () => (new Guiche($url, $id, 'wrong'))->balance->get());
$say('unknown client', $unknown instanceof AuthenticationException ? $unknown->errorCode : $unknown::class);
$say('refused webhooks', (string) count($receiver->refused));
$receiver->close();
