<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Guiche;
use Guiche\Http\CurlTransport;
use Guiche\Http\Psr18Transport;
use Guiche\Http\Request;
use Guiche\Http\TransportFailure;
use Nyholm\Psr7\Factory\Psr17Factory;
use PHPUnit\Framework\TestCase;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;

final class TransportsTest extends TestCase
{
    public function testAnyPsr18ClientSendsTheRequests(): void
    {
        $this->needPsr();
        $client = new class () implements ClientInterface {
            public ?RequestInterface $last = null;

            public function sendRequest(RequestInterface $request): ResponseInterface
            {
                $this->last = $request;
                $factory = new Psr17Factory();
                $body = '{"available":1,"reserved":0,"blocked":0,"debt":0,"at":"2026-11-24T00:00:00.000Z"}';
                return $factory->createResponse(200)->withHeader('Content-Type', 'text/csv')->withBody($factory->createStream($body));
            }
        };
        $factory = new Psr17Factory();
        $guiche = new Guiche('https://pix.example.com', accessToken: static fn () => 'mine', transport: new Psr18Transport($client, $factory, $factory));
        self::assertSame(1, $guiche->balance->get()->available);
        self::assertSame('Bearer mine', $client->last?->getHeaderLine('Authorization'));
        self::assertSame(81, strlen((string) stream_get_contents($guiche->statement->export())));
    }

    public function testAFailureOfAPsr18ClientIsAConnectionThatFailed(): void
    {
        $this->needPsr();
        $client = new class () implements ClientInterface {
            public function sendRequest(RequestInterface $request): ResponseInterface
            {
                throw new class ('no route to host') extends \RuntimeException implements ClientExceptionInterface {
                };
            }
        };
        $factory = new Psr17Factory();
        $this->expectException(TransportFailure::class);
        (new Psr18Transport($client, $factory, $factory))->send(new Request('GET', 'https://pix.example.com', [], null, 1000));
    }

    public function testAnExportThatCannotBeWrittenFails(): void
    {
        $this->needPsr();
        $client = new class () implements ClientInterface {
            public function sendRequest(RequestInterface $request): ResponseInterface
            {
                $factory = new Psr17Factory();
                return $factory->createResponse(200)->withBody($factory->createStream("id,amount\r\n1,2590\r\n"));
            }
        };
        $factory = new Psr17Factory();
        // A stream that can only be read refuses the data, as one on a full disk does.
        $sink = fopen('php://memory', 'rb');
        $this->expectException(TransportFailure::class);
        $this->expectExceptionMessage('could not be written');
        (new Psr18Transport($client, $factory, $factory))->send(new Request('GET', 'https://pix.example.com', [], null, 1000, $sink));
    }

    public function testCurlSaysThatNobodyListens(): void
    {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $name = stream_socket_get_name($server, false);
        fclose($server);
        try {
            (new CurlTransport())->send(new Request('GET', "http://$name/", [], null, 5000));
            self::fail('Somebody answered.');
        } catch (TransportFailure $failure) {
            self::assertFalse($failure->isTimeout);
        }
    }

    public function testCurlStopsWaitingAfterTheTimeLimit(): void
    {
        // The connection is accepted by the system, and nobody answers.
        $server = stream_socket_server('tcp://127.0.0.1:0');
        try {
            (new CurlTransport())->send(new Request('GET', 'http://' . stream_socket_get_name($server, false), [], null, 50));
            self::fail('Somebody answered.');
        } catch (TransportFailure $failure) {
            self::assertTrue($failure->isTimeout);
        }
    }

    public function testAnExportMayTakeLongerThanTheTimeLimitAsLongAsSomethingArrives(): void
    {
        // Half a second between the pieces, and three seconds for all of them.
        [$address, $server] = $this->serve('fwrite($connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"); for ($i = 0; $i < 6; $i++) { usleep(500_000); fwrite($connection, "piece\n"); }');
        $sink = fopen('php://temp', 'w+b');
        (new CurlTransport())->send(new Request('GET', $address, [], null, 2000, $sink));
        rewind($sink);
        self::assertSame(str_repeat("piece\n", 6), stream_get_contents($sink));
        proc_close($server);
    }

    public function testAnExportOfWhichNothingArrivesEnds(): void
    {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        try {
            (new CurlTransport())->send(new Request('GET', 'http://' . stream_socket_get_name($server, false), [], null, 50, fopen('php://temp', 'w+b')));
            self::fail('Somebody answered.');
        } catch (TransportFailure $failure) {
            self::assertTrue($failure->isTimeout);
        }
    }

    public function testAPostWithoutABodySaysThatItHasNone(): void
    {
        [$address, $server] = $this->serve('fwrite($connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" . $head);');
        $head = (new CurlTransport())->send(new Request('POST', $address, [], null, 5000))->body;
        self::assertMatchesRegularExpression('/^Content-Length: 0\r$/mi', $head);
        self::assertStringNotContainsStringIgnoringCase('Content-Type', $head);
        proc_close($server);
    }

    /**
     * Another process that answers one connection with this code.
     *
     * @return array{string, resource}
     */
    private function serve(string $answer): array
    {
        $code = '$server = stream_socket_server("tcp://127.0.0.1:0"); echo stream_socket_get_name($server, false), "\n";'
            . '$connection = stream_socket_accept($server, 10); $head = ""; while (trim($line = (string) fgets($connection)) !== "") { $head .= $line; }'
            . $answer;
        $process = proc_open([PHP_BINARY, '-r', $code], [1 => ['pipe', 'w']], $pipes);
        return ['http://' . trim((string) fgets($pipes[1])) . '/', $process];
    }

    private function needPsr(): void
    {
        if (!interface_exists(ClientInterface::class) || !class_exists(Psr17Factory::class)) {
            self::markTestSkipped('nyholm/psr7 and psr/http-client are not installed.');
        }
    }
}
