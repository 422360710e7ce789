<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\Types\SandboxAdvanced;
use Guiche\Types\SandboxDisputed;
use Guiche\Types\SandboxPaid;
use Guiche\Types\SandboxPersonality;
use Guiche\Types\Shapes;

/**
 * The simulated PIX network. No real money moves. It exists only while the acquirer is the simulator: elsewhere each method
 * throws `not_found`. The SDK does not repeat a change after a lost answer: a payment made twice is two payments.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type SandboxPayment from Shapes
 * @phpstan-import-type SandboxInfraction from Shapes
 * @phpstan-import-type SandboxReturn from Shapes
 * @phpstan-import-type SandboxWithdrawalReturn from Shapes
 * @phpstan-import-type SandboxPersonalityInput from Shapes
 */
final class Sandbox
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Pays a QR code as a payer's bank does. Pass `amount` (cents) to pay a different amount than the code asks for.
     *
     * @param SandboxPayment $payment
     * @param Options $options
     * @throws \Guiche\Exception\GuicheException `payment_refused`: for example, the code has expired, has already been
     *     paid, or is not a Pix code
     */
    public function pay(array $payment, array $options = []): SandboxPaid
    {
        return $this->client->post('/sandbox/payment', SandboxPaid::class, $options, $payment);
    }

    /**
     * Opens a dispute (MED) as the payer of the payment with this `endToEnd`. The result has the `reference` to pass to
     * `decide`.
     *
     * @param SandboxInfraction $infraction
     * @param Options $options
     */
    public function openDispute(array $infraction, array $options = []): SandboxDisputed
    {
        return $this->client->post('/sandbox/infraction', SandboxDisputed::class, $options, $infraction);
    }

    /**
     * Decides a dispute. If it is accepted, the money goes back to the payer; if rejected or canceled, it stays.
     *
     * @param 'accept'|'reject'|'cancel' $decision
     * @param Options $options
     */
    public function decide(string $reference, string $decision, array $options = []): SandboxDisputed
    {
        $path = '/sandbox/infraction/' . Client::toSegment($reference) . '/' . Client::toSegment($decision);
        return $this->client->post($path, SandboxDisputed::class, $options);
    }

    /**
     * The simulated bank returns a payment that it received for you, or `amount` cents of it, under MED without a
     * dispute before.
     *
     * @param SandboxReturn $input
     * @param Options $options
     */
    public function returnPayment(array $input, array $options = []): SandboxPaid
    {
        return $this->client->post('/sandbox/return', SandboxPaid::class, $options, $input);
    }

    /**
     * The receiver of a withdrawal sends it back, or `amount` cents of it.
     *
     * @param SandboxWithdrawalReturn $input
     * @param Options $options
     */
    public function returnWithdrawal(string $id, array $input = [], array $options = []): SandboxPaid
    {
        return $this->client->post('/sandbox/withdrawal/' . Client::toSegment($id) . '/return', SandboxPaid::class, $options, $input);
    }

    /**
     * The fault profile ("personality") of the simulated bank: which faults it injects, and how often.
     *
     * @param Options $options
     */
    public function personality(array $options = []): SandboxPersonality
    {
        return $this->client->get('/sandbox/personality', SandboxPersonality::class, $options);
    }

    /**
     * Changes the fault profile of the simulated bank, for every client of the service. `['name' => 'honest']` restores the
     * initial one.
     *
     * @param SandboxPersonalityInput $input
     * @param Options $options
     */
    public function setPersonality(array $input, array $options = []): SandboxPersonality
    {
        return $this->client->post('/sandbox/personality', SandboxPersonality::class, $options, $input);
    }

    /**
     * Lets time pass for your own records, at most 90 days per call: codes expire, webhooks are retried, delayed payments
     * and refunds arrive, deadlines of disputes come closer. Nothing that has already happened changes.
     *
     * @param Options $options
     */
    public function advanceClock(int $seconds, array $options = []): SandboxAdvanced
    {
        return $this->client->post('/sandbox/clock', SandboxAdvanced::class, $options, ['advanceSeconds' => $seconds]);
    }
}
