<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Money;
use PHPUnit\Framework\TestCase;

final class MoneyTest extends TestCase
{
    public function testCentsAreShownAsInBrazil(): void
    {
        $shown = array_map(Money::formatBRL(...), [0, 5, 99, 100, 2590, 123456, 100000000, -2590]);
        self::assertSame(['R$ 0,00', 'R$ 0,05', 'R$ 0,99', 'R$ 1,00', 'R$ 25,90', 'R$ 1.234,56', 'R$ 1.000.000,00', '-R$ 25,90'], $shown);
    }

    public function testReaisBecomeCentsWithoutLosingOne(): void
    {
        self::assertSame([1999, 2590, 2500, 110, -1], array_map(Money::toCents(...), [19.99, 25.9, 25, 1.1, -0.01]));
        self::assertSame([1999, 2590, 2500, 2590, -1, 900719925474093], array_map(Money::toCents(...), ['19.99', '25.9', '25', '25.9000', '-0.01', '9007199254740.93']));
        for ($cents = 0; $cents < 3000; $cents += 1) {
            self::assertSame($cents, Money::toCents($cents / 100));
            self::assertSame($cents, Money::toCents(number_format($cents / 100, 2, '.', '')));
        }
    }

    /** @dataProvider wrong */
    public function testWhatIsNoAmountIsRefused(string|float $reais): void
    {
        $this->expectException(\InvalidArgumentException::class);
        Money::toCents($reais);
    }

    /** @return iterable<array{string|float}> */
    public static function wrong(): iterable
    {
        foreach ([0.001, 25.905, NAN, INF, 1e20, '', '25,90', '1.234,56', '25.905', '1e3', ' 25', "25\n", '0x10'] as $reais) {
            yield [$reais];
        }
    }
}
