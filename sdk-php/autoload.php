<?php

declare(strict_types=1);

/** For projects without Composer: `require '…/sdk-php/autoload.php'`. With Composer, its own autoloader does this. */
spl_autoload_register(static function (string $class): void {
    if (!str_starts_with($class, 'Guiche\\')) {
        return;
    }
    $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen('Guiche\\'))) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
