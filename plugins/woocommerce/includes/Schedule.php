<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Exception\GuicheException;
use Guiche\Exception\PermissionException;
use Guiche\Types\Transaction;

/** Finds what webhooks have not reported: every five minutes, with WooCommerce's Action Scheduler. */
final class Schedule
{
    private const HOOK = 'guiche_pix_check';
    private const HOOK_OF_ORDER = 'guiche_pix_check_order';
    private const GROUP = 'guiche-pix';
    private const EVERY_SECONDS = 300;
    private const SOON_SECONDS = 60;
    /** Each pause is twice the one before: a day and a half in all. */
    private const ATTEMPTS_MAX = 11;
    /** A code lives a day at most, and a payment of its last minute is confirmed soon after. */
    private const SINCE_SECONDS = 3 * 24 * 60 * 60;
    private const PAGES_MAX = 20;
    /** The option with the position in the event feed. */
    private const POSITION = 'guiche_feed_position';
    /** Without them the feed also needs the scope withdrawal.read. */
    private const TYPES = [
        'transaction.pix_qrcode_generated',
        'transaction.paid',
        'transaction.processing_refund',
        'transaction.processing_infraction',
        'transaction.refunded',
        'transaction.infraction',
        'transaction.failed',
        'transaction.blocked',
    ];

    public static function register(): void
    {
        add_action(self::HOOK, self::check(...));
        add_action(self::HOOK_OF_ORDER, self::checkOrder(...), 10, 3);
    }

    /** The next check begins with the orders. */
    public static function forget(): void
    {
        delete_option(self::POSITION);
    }

    public static function checkSoon(int $orderId, string $transactionId, int $attempt = 1): void
    {
        $at = time() + self::SOON_SECONDS * 2 ** ($attempt - 1);
        as_schedule_single_action($at, self::HOOK_OF_ORDER, [$orderId, $transactionId, $attempt], self::GROUP);
    }

    /** Called with each charge: a shop without Pix orders has nothing to check. */
    public static function ensure(): void
    {
        if (!as_has_scheduled_action(self::HOOK)) {
            as_schedule_recurring_action(time() + self::EVERY_SECONDS, self::EVERY_SECONDS, self::HOOK, [], self::GROUP, true);
        }
    }

    /**
     * Follows the event feed from where the last check ended, so that nothing is missed: payments, expiries, refunds from
     * Guichê's dashboard, disputes.
     */
    public static function check(): void
    {
        $position = (string) get_option(self::POSITION, '');
        try {
            if ($position === '') {
                // Events from now on are in the feed; what came before shows in the orders.
                $next = Plugin::client()->events->read(['after' => 'end', 'type' => self::TYPES])->next;
                self::checkOrders();
                update_option(self::POSITION, $next, false);
                return;
            }
            self::follow($position);
        } catch (PermissionException) {
            // Without the scope webhook.read there is no feed to follow. The next check repeats what fails.
            self::checkOrders(isRepeated: true);
        } catch (GuicheException $error) {
            if ($error->errorCode === 'position_unknown') {
                delete_option(self::POSITION);
            }
            Plugin::log('warning', 'The event feed could not be read', ['error' => $error->getMessage()]);
        }
    }

    private static function follow(string $position): void
    {
        for ($page = 0; $page < self::PAGES_MAX; $page += 1) {
            $feed = Plugin::client()->events->read(['after' => $position, 'type' => self::TYPES]);
            $found = [];
            foreach ($feed->data as $event) {
                $orderId = $event->data instanceof Transaction ? Charges::orderIdOf($event->data->externalCode) : 0;
                if ($orderId !== 0) {
                    $found[$event->data->id] = $orderId;
                }
            }
            foreach ($found as $transactionId => $orderId) {
                self::synchronize($orderId, $transactionId);
            }
            $position = $feed->next;
            update_option(self::POSITION, $position, false);
            if (!$feed->hasMore) {
                return;
            }
        }
    }

    /** The orders that may still be paid. Their ids first, since a check moves an order to another status. */
    private static function checkOrders(bool $isRepeated = false): void
    {
        $orderIds = wc_get_orders([
            'payment_method' => Plugin::GATEWAY,
            'status' => ['pending', 'on-hold', 'failed', 'cancelled'],
            'date_created' => '>' . (time() - self::SINCE_SECONDS),
            'orderby' => 'date',
            'order' => 'ASC',
            'limit' => -1,
            'return' => 'ids',
        ]);
        foreach ($orderIds as $orderId) {
            $order = wc_get_order($orderId);
            if (!$order instanceof \WC_Order) {
                continue;
            }
            foreach (array_keys(Charges::transactionsOf($order)) as $transactionId) {
                self::synchronize($orderId, $transactionId, $isRepeated);
            }
        }
    }

    /** An order that fails is checked again soon, and delays no other. Hooks of other plugins may throw anything. */
    private static function synchronize(int $orderId, string $transactionId, bool $isRepeated = false): void
    {
        try {
            Synchronizer::synchronize($orderId, $transactionId);
        } catch (\Throwable $error) {
            Plugin::log('warning', 'A payment could not be checked', ['order' => $orderId, 'error' => $error->getMessage()]);
            if (!$isRepeated) {
                self::checkSoon($orderId, $transactionId);
            }
        }
    }

    private static function checkOrder(int $orderId, string $transactionId, int $attempt = 1): void
    {
        try {
            Synchronizer::synchronize($orderId, $transactionId);
        } catch (\Throwable $error) {
            if ($attempt < self::ATTEMPTS_MAX) {
                self::checkSoon($orderId, $transactionId, $attempt + 1);
            }
            // The action fails, and WooCommerce lists it under its scheduled actions.
            throw $error;
        }
    }
}
