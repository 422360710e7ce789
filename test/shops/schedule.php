<?php

declare(strict_types=1);

// The schedule of the plugin for WooCommerce, without WordPress: what the plugin uses of it is below, with data in
// memory. The client has the scopes of the plugin's README at Guichê. Prints the position in the event feed with the
// orders that were updated, the minutes before each further check of an order that fails, and the requests of a
// cancellation.

namespace {
    /** @var array<string, string> */
    $options = [];
    /** @var list<array{seconds: int, values: array<int, mixed>}> */
    $scheduled = [];
    /** @var list<array{method: string, path: string, type: null|string}> */
    $requests = [];

    function add_action(string $hook, callable $run, int $priority = 10, int $values = 1): void
    {
        if ($hook === 'guiche_pix_check_order') {
            $GLOBALS['runOrder'] = static fn (array $arguments) => $run(...array_slice($arguments, 0, $values));
        }
    }

    function as_schedule_single_action(int $at, string $hook, array $values): void
    {
        $GLOBALS['scheduled'][] = ['seconds' => $at - time(), 'values' => $values];
    }

    function get_option(string $name, string $default): string
    {
        return $GLOBALS['options'][$name] ?? $default;
    }

    function update_option(string $name, string $value): void
    {
        $GLOBALS['options'][$name] = $value;
    }

    function wc_get_orders(): array
    {
        return [];
    }

    /** @return array{status: int, body: string} */
    function wp_remote_request(string $url, array $options): array
    {
        ['path' => $path, 'query' => $query] = parse_url($url) + ['query' => ''];
        // cURL adds the type of a form to an empty body.
        $type = $options['headers']['Content-Type'] ?? ($options['method'] === 'POST' ? 'application/x-www-form-urlencoded' : null);
        $GLOBALS['requests'][] = ['method' => $options['method'], 'path' => $path, 'type' => $type];
        preg_match_all('/(?:^|&)type=([^&]*)/', $query, $types);
        if ($path === '/event' && ($types[1] === [] || preg_grep('/^transaction\./', $types[1], PREG_GREP_INVERT) !== [])) {
            return ['status' => 403, 'body' => '{"code":"insufficient_scope","status":403,"title":"","detail":"withdrawal.read"}'];
        }
        $events = [];
        foreach (str_contains($query, 'after=end') ? [] : [7, 8] as $order) {
            $event = \Guiche\Testing\TestEvent::create('transaction.paid', ['externalCode' => "wc-1f2e3d4c5b6a-$order"]);
            $events[] = ['number' => $order, 'position' => "$order-00000000"] + $event->toArray();
        }
        $answer = str_ends_with($path, '/cancel')
            ? \Guiche\Testing\TestEvent::create('transaction.failed')->toArray()['data']
            : ['data' => $events, 'next' => $events === [] ? '6-00000000' : '8-00000000', 'hasMore' => false];
        return ['status' => 200, 'body' => (string) json_encode($answer)];
    }

    function is_wp_error(mixed $answer): bool
    {
        return false;
    }

    function wp_remote_retrieve_headers(array $answer): array
    {
        return ['content-type' => 'application/json'];
    }

    function wp_remote_retrieve_response_code(array $answer): int
    {
        return $answer['status'];
    }

    function wp_remote_retrieve_body(array $answer): string
    {
        return $answer['body'];
    }
}

namespace Guiche\WooCommerce {
    use Guiche\Guiche;

    require __DIR__ . '/../../sdk-php/autoload.php';
    foreach (['Charges', 'Schedule', 'WordPressTransport'] as $name) {
        require __DIR__ . "/../../plugins/woocommerce/includes/$name.php";
    }

    final class Plugin
    {
        public const GATEWAY = 'guiche_pix';

        public static function client(): Guiche
        {
            return new Guiche('https://pix.example.com', accessToken: static fn () => 'a-token', maxRetries: 0, transport: new WordPressTransport());
        }

        public static function installation(): string
        {
            return '1f2e3d4c5b6a';
        }

        public static function log(): void
        {
        }
    }

    final class Synchronizer
    {
        /** @var list<int> */
        public static array $done = [];

        public static function synchronize(int $orderId, string $transactionId): bool
        {
            if ($orderId === 7) {
                throw new \TypeError('A hook of another plugin failed.');
            }
            self::$done[] = $orderId;
            return true;
        }
    }

    Schedule::register();
    Schedule::check();
    Schedule::check();
    $feed = ['position' => get_option('guiche_feed_position', ''), 'done' => Synchronizer::$done];

    // As the Action Scheduler runs them: an action that fails is not repeated.
    $pauses = [];
    while ($scheduled !== []) {
        ['seconds' => $seconds, 'values' => $values] = array_shift($scheduled);
        $pauses[] = intdiv($seconds, 60);
        try {
            ($runOrder)($values);
        } catch (\TypeError) {
            // It is listed as failed.
        }
    }
    $requests = [];
    Plugin::client()->transactions->cancel('00000000-0000-4000-8000-000000000000');
    echo json_encode(['feed' => $feed, 'pauses' => $pauses, 'cancel' => $requests]), "\n";
}
