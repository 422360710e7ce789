<?php

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/FakeTransport.php';

// Composer's packages, or those of Debian, for the tests with a PSR-18 client. Without them, those tests are skipped.
foreach ([__DIR__ . '/../vendor/autoload.php', '/usr/share/php/Psr/Http/Client/autoload.php', '/usr/share/php/Nyholm/Psr7/autoload.php', '/usr/share/php/Psr/SimpleCache/autoload.php'] as $file) {
    if (is_file($file)) {
        require_once $file;
    }
}
