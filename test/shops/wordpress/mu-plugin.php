<?php

/** For test/shops/woocommerce.test.ts: writes mail to a file, reaches this machine only, and loses answers (lost.txt). */

declare(strict_types=1);

add_filter('pre_wp_mail', static function (mixed $_, array $mail): bool {
    file_put_contents(WP_CONTENT_DIR . '/mails.txt', implode(',', (array) $mail['to']) . " | {$mail['subject']}\n{$mail['message']}\n", FILE_APPEND);
    return true;
}, 10, 2);

add_filter('http_request_host_is_external', '__return_true');

add_filter('pre_http_request', static function (mixed $answer, array $options, string $url): mixed {
    static $isInside = false;
    if ($isInside) {
        return $answer;
    }
    if (!str_starts_with($url, 'http://127.0.0.1')) {
        return new WP_Error('http_request_failed', 'Only this machine is reached in the test.');
    }
    // The file says which path is carried out without its answer, and how often.
    [$path, $times] = explode(' ', (string) @file_get_contents(WP_CONTENT_DIR . '/lost.txt')) + [1 => '0'];
    if ((int) $times === 0 || !str_ends_with($url, $path)) {
        return $answer;
    }
    file_put_contents(WP_CONTENT_DIR . '/lost.txt', "$path " . ((int) $times - 1));
    $isInside = true;
    wp_remote_request($url, $options);
    $isInside = false;
    return new WP_Error('http_request_failed', 'cURL error 52: Empty reply from server');
}, 10, 3);
