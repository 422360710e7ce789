<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Exception\WebhookVerificationException;
use Guiche\Testing\SignedWebhook;
use Guiche\Testing\TestEvent;
use Guiche\Types\Withdrawal;
use Guiche\Webhook;
use PHPUnit\Framework\TestCase;

final class WebhookTest extends TestCase
{
    private const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    private const OTHER = 'whsec_b2Ygc29tZWJvZHkgZWxzZQ==';

    public function testAnEventOfTheServiceIsReturnedWithItsRecord(): void
    {
        $signed = SignedWebhook::of(self::SECRET, TestEvent::create('transaction.paid', ['amount' => 2590, 'externalCode' => 'order-2026-0001']));
        $event = Webhook::verify(self::SECRET, $signed->headers, $signed->body);
        self::assertSame(['transaction.paid', 2], [$event->type, $event->sequence]);
        self::assertSame(['PAID', 2590, 'order-2026-0001'], [$event->data->status, $event->data->amountPaid, $event->data->externalCode]);

        $signed = SignedWebhook::of(self::SECRET, TestEvent::create('withdrawal.processed'));
        self::assertInstanceOf(Withdrawal::class, Webhook::verify(self::SECRET, $signed->headers, $signed->body)->data);
    }

    public function testMoneyOfATestEventIsReturnedOnlyOnce(): void
    {
        foreach (['paid' => [0, 0], 'refunded' => [2590, 0], 'infraction' => [0, 2590]] as $status => $amounts) {
            $data = TestEvent::create("transaction.$status")->data;
            self::assertSame($amounts, [$data->amountRefunded, $data->amountReturned]);
            $sum = static fn (array $parts): int => array_sum(array_map(static fn ($part): int => $part->amount, $parts));
            self::assertSame($amounts, [$sum($data->refunds), $sum($data->returns)]);
        }
    }

    public function testATestEventHasTheHistoryAndTheDisputeOfItsStatus(): void
    {
        foreach ([
            'refunded' => ['PROCESSING_REFUND', []],
            'blocked' => ['PAID', ['OPEN']],
            'processing_infraction' => ['BLOCKED', ['ACCEPTED']],
            'infraction' => ['PAID', ['RETURNED']],
        ] as $status => [$before, $disputeStatuses]) {
            $data = TestEvent::create("transaction.$status")->data;
            self::assertSame($before, $data->statusHistory[count($data->statusHistory) - 2]->status);
            self::assertSame($disputeStatuses, array_map(static fn ($dispute): string => $dispute->status, $data->disputes));
        }
        $returned = TestEvent::create('transaction.infraction')->data;
        self::assertSame($returned->disputes[0]->id, $returned->returns[0]->disputeId);
    }

    public function testHeadersAreReadAsEachFrameworkGivesThem(): void
    {
        ['webhook-id' => $id, 'webhook-timestamp' => $time, 'webhook-signature' => $signature] = SignedWebhook::of(self::SECRET, $body = '{"id":"e","type":"new.type","timestamp":"2026-11-24T00:00:00Z","data":{}}', id: 'e')->headers;
        foreach ([
            ['Webhook-Id' => $id, 'Webhook-Timestamp' => $time, 'Webhook-Signature' => $signature],
            ['HTTP_WEBHOOK_ID' => $id, 'HTTP_WEBHOOK_TIMESTAMP' => $time, 'HTTP_WEBHOOK_SIGNATURE' => $signature],
            ['webhook-id' => [$id], 'webhook-timestamp' => [$time], 'webhook-signature' => [$signature]],
        ] as $headers) {
            $event = Webhook::verify(self::SECRET, $headers, $body);
            self::assertSame(['new.type', null], [$event->type, $event->data]);
        }
    }

    public function testAChangeOfSecretsLosesNothing(): void
    {
        $event = TestEvent::create('transaction.paid');
        $both = SignedWebhook::of([self::OTHER, self::SECRET], $event);
        self::assertSame($event->id, Webhook::verify(self::SECRET, $both->headers, $both->body)->id);
        $old = SignedWebhook::of(self::OTHER, $event);
        self::assertSame($event->id, Webhook::verify([self::SECRET, self::OTHER], $old->headers, $old->body)->id);
    }

    /**
     * @dataProvider forged
     * @param array<string, string> $changed
     */
    public function testWhatCannotBeTrustedIsRefused(array $changed, string $more = ''): void
    {
        $signed = SignedWebhook::of(self::SECRET, TestEvent::create('transaction.paid'));
        $this->expectException(WebhookVerificationException::class);
        Webhook::verify(self::SECRET, [...$signed->headers, ...$changed], $signed->body . $more);
    }

    /** @return iterable<string, array{array<string, string>, 1?: string}> */
    public static function forged(): iterable
    {
        yield 'another body' => [[], ' '];
        yield 'another id' => [['webhook-id' => 'other']];
        yield 'another time' => [['webhook-timestamp' => (string) (time() - 10)]];
        yield 'no time' => [['webhook-timestamp' => 'now']];
        yield 'no signature' => [['webhook-signature' => '']];
        yield 'an empty signature' => [['webhook-signature' => 'v1,']];
        yield 'no base64' => [['webhook-signature' => 'v1,*']];
        yield 'another version' => [['webhook-signature' => 'v2,AAAA']];
    }

    public function testWebhooksOfAnotherSecretOrTooFarFromNowAreRefused(): void
    {
        $event = TestEvent::create('transaction.paid');
        $signed = [SignedWebhook::of(self::OTHER, $event), SignedWebhook::of(self::SECRET, $event, timestamp: time() - 302), SignedWebhook::of(self::SECRET, $event, timestamp: time() + 302)];
        foreach ($signed as $one) {
            try {
                Webhook::verify(self::SECRET, $one->headers, $one->body);
                self::fail('It was accepted.');
            } catch (WebhookVerificationException $error) {
                self::assertSame('webhook_not_verified', $error->errorCode);
                self::assertStringNotContainsString('MfKQ', (string) $error);
            }
        }
        self::assertNotNull(Webhook::verify(self::SECRET, $signed[1]->headers, $signed[1]->body, INF)->data);
        self::assertNotNull(Webhook::verify(self::SECRET, $signed[1]->headers, $signed[1]->body, now: new \DateTimeImmutable('-5 minutes'))->data);
    }

    public function testOnlyTheFirstEightSignaturesAreCompared(): void
    {
        $signed = SignedWebhook::of(self::SECRET, TestEvent::create('transaction.paid'));
        $many = implode(' ', [...array_fill(0, 8, 'v1,AAAA'), $signed->headers['webhook-signature']]);
        $this->expectException(WebhookVerificationException::class);
        Webhook::verify(self::SECRET, ['webhook-signature' => $many] + $signed->headers, $signed->body);
    }

    public function testAMissingOrInvalidSecretIsAnInvalidArgument(): void
    {
        foreach (['', 'whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', []] as $secret) {
            try {
                Webhook::verify($secret, [], '');
                self::fail('It was accepted.');
            } catch (\InvalidArgumentException $error) {
                self::assertStringNotContainsString('MfKQ', $error->getMessage());
            }
        }
    }
}
