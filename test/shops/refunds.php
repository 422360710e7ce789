<?php

declare(strict_types=1);

// Refunds by the plugin for WooCommerce, without WordPress: what the plugin uses of it is below, with data in memory.
// Prints the keys and amounts of all requests for a refund, the amounts that Guichê carried out, and how many records
// WooCommerce has.

namespace {
    class WC_Order_Refund
    {
        public function __construct(private int $id)
        {
        }

        public function get_id(): int
        {
            return $this->id;
        }
    }

    /** Reads and writes the stored meta data, as a new process does. */
    class WC_Order
    {
        /** @var array<string, string> */
        private static array $stored = ['_guiche_paid_by' => 'a-transaction'];
        /** @var array<string, string> */
        private array $meta;

        public function __construct()
        {
            $this->meta = self::$stored;
        }

        public function get_id(): int
        {
            return 7;
        }

        public function get_meta(string $name): string
        {
            return $this->meta[$name] ?? '';
        }

        public function update_meta_data(string $name, string $value): void
        {
            $this->meta[$name] = $value;
        }

        public function save(): void
        {
            self::$stored = $this->meta;
        }

        public function add_order_note(string $note): void
        {
        }
    }

    final class Records
    {
        /** @var array<int, WC_Order_Refund> */
        public static array $all = [];
        public static int $last = 0;
    }

    function wc_get_order(int $id): WC_Order_Refund|false
    {
        return Records::$all[$id] ?? false;
    }

    function __(string $text): string
    {
        return $text;
    }
}

namespace Guiche\WooCommerce {
    use Guiche\Guiche;
    use Guiche\Http\Request;
    use Guiche\Http\Response;
    use Guiche\Http\Transport;
    use Guiche\Http\TransportFailure;

    require __DIR__ . '/../../sdk-php/autoload.php';
    require __DIR__ . '/../../plugins/woocommerce/includes/Charges.php';

    final class FakeGuiche implements Transport
    {
        /** @var list<string> */
        public static array $requested = [];
        /** @var array<string, int> the cents of each key */
        public static array $carriedOut = [];
        public static ?\Throwable $failure = null;

        public function send(Request $request): Response
        {
            ['idempotencyKey' => $key, 'amount' => $cents] = json_decode((string) $request->body, true);
            self::$requested[] = "$key $cents";
            self::$carriedOut[$key] ??= $cents;
            [$failure, self::$failure] = [self::$failure, null];
            if ($failure !== null) {
                throw $failure;
            }
            return new Response(201, [], (string) json_encode(['id' => $key, 'transactionId' => 'a-transaction', 'amount' => $cents, 'status' => 'PROCESSING', 'createdAt' => '2026-11-24T00:00:00.000Z']));
        }
    }

    final class Plugin
    {
        public static function client(): Guiche
        {
            return new Guiche('https://pix.example.com', accessToken: static fn () => 'a-token', maxRetries: 0, transport: new FakeGuiche());
        }

        public static function installation(): string
        {
            return '1f2e3d4c5b6a';
        }
    }

    /** As WooCommerce: it stores a record first, and deletes it after an error. A killed process leaves the record. */
    function refund(int $cents, ?\Throwable $failure = null): void
    {
        FakeGuiche::$failure = $failure;
        $record = new \WC_Order_Refund(++\Records::$last);
        \Records::$all[$record->get_id()] = $record;
        Charges::noteRecord($record);
        try {
            Charges::refund(new \WC_Order(), $cents);
        } catch (\Guiche\Exception\GuicheException) {
            unset(\Records::$all[$record->get_id()]);
        } catch (\Error) {
            // It was killed.
        }
    }

    refund(500, new \Error('killed'));
    refund(500);
    refund(300, new TransportFailure('connection reset'));
    refund(300);
    echo json_encode(['requested' => FakeGuiche::$requested, 'carriedOut' => array_values(FakeGuiche::$carriedOut), 'records' => count(\Records::$all)]), "\n";
}
