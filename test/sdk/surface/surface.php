<?php

// Prints the public functions and methods of the PHP SDK as reflection sees them, for surface.test.ts.

declare(strict_types=1);

require $argv[1] . '/autoload.php';

/** The options that each call of a resource takes, of `@phpstan-type Options`. */
preg_match('/@phpstan-type Options array\{(.*)\}/', (string) (new ReflectionClass(Guiche\Http\Client::class))->getDocComment(), $shape);
preg_match_all('/(\w+)(\??):/', $shape[1], $fields, PREG_SET_ORDER);
$common = array_map(static fn (array $field): array => ['name' => $field[1], 'isOptional' => $field[2] === '?', 'isOption' => true], $fields);

$parametersOf = static function (ReflectionMethod $method) use ($common): array {
    $parameters = array_map(static fn (ReflectionParameter $one): array => $one->getName() === 'options' ? $common : [[
        'name' => $one->getName(),
        'isOptional' => $one->isOptional(),
        'isOption' => false,
        'initial' => $one->isDefaultValueAvailable() ? json_encode($one->getDefaultValue()) : null,
    ]], $method->getParameters());
    return array_merge(...$parameters, ...[[]]);
};
$methodsOf = static function (string $prefix, string $class) use ($parametersOf): array {
    $methods = array_filter((new ReflectionClass($class))->getMethods(ReflectionMethod::IS_PUBLIC), static fn (ReflectionMethod $one): bool => !$one->isConstructor() && $one->getName() !== 'getIterator');
    return array_combine(
        array_map(static fn (ReflectionMethod $one): string => "$prefix.{$one->getName()}", $methods),
        array_map($parametersOf, $methods),
    );
};

$callables = array_map($parametersOf, [
    'Guiche' => new ReflectionMethod(Guiche\Guiche::class, '__construct'),
    'verifyWebhook' => new ReflectionMethod(Guiche\Webhook::class, 'verify'),
    'formatBRL' => new ReflectionMethod(Guiche\Money::class, 'formatBRL'),
    'toCents' => new ReflectionMethod(Guiche\Money::class, 'toCents'),
    'createTestEvent' => new ReflectionMethod(Guiche\Testing\TestEvent::class, 'create'),
    'signWebhook' => new ReflectionMethod(Guiche\Testing\SignedWebhook::class, 'of'),
    'createWebhookReceiver' => new ReflectionMethod(Guiche\Testing\WebhookReceiver::class, '__construct'),
]);
foreach ((new ReflectionClass(Guiche\Guiche::class))->getProperties(ReflectionProperty::IS_PUBLIC) as $resource) {
    $callables += $methodsOf($resource->getName(), $resource->getType()->getName());
}
$callables += $methodsOf('list', Guiche\RecordList::class) + $methodsOf('receiver', Guiche\Testing\WebhookReceiver::class);

$errors = array_map(static fn (string $file): string => basename($file, '.php'), glob($argv[1] . '/src/Exception/*.php'));
foreach ($errors as $error) {
    new ReflectionClass("Guiche\\Exception\\$error");
}
echo json_encode(['callables' => $callables, 'errors' => $errors]);
