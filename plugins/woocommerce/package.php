<?php

/**
 * `php plugins/woocommerce/package.php [path]`: writes a ZIP file of the plugin with the SDK in it, for the upload in
 * WordPress; by default dist/guiche-for-woocommerce.zip.
 */

declare(strict_types=1);

const NAME = 'guiche-for-woocommerce';
const FOLDERS = ['assets', 'includes', 'languages'];

$target = $argv[1] ?? __DIR__ . '/../../dist/' . NAME . '.zip';
if (!is_dir(dirname($target))) {
    mkdir(dirname($target), 0777, true);
}
if (is_file($target)) {
    unlink($target);
}
$zip = new PharData($target, 0, null, Phar::ZIP);
foreach (FOLDERS as $folder) {
    add($zip, __DIR__ . "/$folder", NAME . "/$folder");
}
foreach ([NAME . '.php', 'README.md', 'LICENSE'] as $file) {
    $zip->addFile(__DIR__ . "/$file", NAME . "/$file");
}
$sdk = __DIR__ . '/../../sdk-php';
add($zip, "$sdk/src", NAME . '/sdk/src');
$zip->addFile("$sdk/autoload.php", NAME . '/sdk/autoload.php');
$zip->addFile("$sdk/LICENSE", NAME . '/sdk/LICENSE');
echo realpath($target), "\n";

function add(PharData $zip, string $folder, string $name): void
{
    foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator($folder, FilesystemIterator::SKIP_DOTS)) as $file) {
        $zip->addFile($file->getPathname(), $name . substr($file->getPathname(), strlen($folder)));
    }
}
