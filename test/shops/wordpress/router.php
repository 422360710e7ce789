<?php

/** For PHP's own web server: files as they are, everything else to WordPress. */

declare(strict_types=1);

$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$file = $_SERVER['DOCUMENT_ROOT'] . $path;
if ($path !== '/' && is_file($file) && !str_ends_with($file, '.php')) {
    return false;
}
$script = is_file($file) ? $path : '/index.php';
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $script;
chdir(dirname($_SERVER['DOCUMENT_ROOT'] . $script));
require $_SERVER['DOCUMENT_ROOT'] . $script;
