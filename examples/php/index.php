<?php

/**
 * A shop with one product, in PHP without a framework. In the folder of Guichê, while it runs:
 *
 *     php -S 127.0.0.1:8001 examples/php/index.php
 *
 * and open http://127.0.0.1:8001. orders.php has the part that you need in your own shop.
 */

declare(strict_types=1);

require __DIR__ . '/../../sdk-php/autoload.php';
require __DIR__ . '/orders.php';

use Guiche\Exception\GuicheException;
use Guiche\Exception\WebhookVerificationException;
use Guiche\Guiche;
use Guiche\Money;
use Guiche\Webhook;

const PRODUCT = 'Café especial, 250 g';
const PRICE = 2590;

$settings = readSettings();
$guiche = new Guiche($settings['baseUrl'], $settings['clientId'], $settings['clientSecret']);
$orders = new Orders(getenv('SHOP_DATA') ?: sys_get_temp_dir() . '/guiche-shop-php', $guiche, shopUrl: shopUrl());

$route = $_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$id = preg_match('#^\w+ /orders/([0-9a-f]{16})(?:/|$)#', $route, $found) === 1 ? $found[1] : '';
$action = str_replace($id === '' ? "\0" : $id, '{id}', $route);

if ($action === 'GET /') {
    showPage('Loja de exemplo', '<h1>' . PRODUCT . '</h1><p class="price">' . Money::formatBRL(PRICE) . '</p>
        <form method="post" action="/orders"><button>Comprar com Pix</button></form>');
} elseif ($action === 'POST /orders') {
    redirect('/orders/' . $orders->create(PRICE)['id']);
} elseif ($action === 'POST /webhooks/pix') {
    receiveWebhook($orders, $settings['webhookSecret']);
} elseif ($id === '' || ($order = $orders->find($id)) === null) {
    http_response_code(404);
    showPage('Não encontrado', '<h1>Não encontrado</h1><p><a href="/">Voltar à loja</a></p>');
} elseif ($action === 'GET /orders/{id}') {
    showOrder($orders, $order, isSandbox: in_array(parse_url($settings['baseUrl'], PHP_URL_HOST), ['127.0.0.1', 'localhost'], true));
} elseif ($action === 'GET /orders/{id}/status') {
    header('Content-Type: application/json');
    echo json_encode(['isPaid' => $order['isPaid']]);
} elseif ($action === 'POST /orders/{id}/sandbox-payment') {
    try {
        // Plays the customer's bank.
        $guiche->sandbox->pay(['uri' => $order['pix']['uri'] ?? '']);
    } catch (GuicheException $error) {
        error_log((string) $error);
    }
    redirect("/orders/$id");
} else {
    http_response_code(405);
}

function receiveWebhook(Orders $orders, string $secret): void
{
    try {
        $event = Webhook::verify($secret, getallheaders(), (string) file_get_contents('php://input'));
    } catch (WebhookVerificationException $error) {
        http_response_code(401);
        echo $error->detail;
        return;
    }
    $orders->apply($event);
    http_response_code(204);
}

/** @param array<string, mixed> $order */
function showOrder(Orders $orders, array $order, bool $isSandbox): void
{
    try {
        $order = $orders->charge($order['id']);
    } catch (GuicheException $error) {
        // The charge may exist all the same: loading the page again repeats the request with the same key.
        error_log((string) $error);
        http_response_code(503);
        showPage('Pix indisponível', '<h1>O Pix está indisponível</h1><p>Seu pedido está guardado. <a href="">Tentar de novo</a></p>');
        return;
    }
    $total = Money::formatBRL($order['total']);
    if ($order['isPaid']) {
        showPage('Pedido pago', "<h1>Pedido pago</h1><p>Recebemos $total. Obrigado!</p><p><a href=\"/\">Voltar à loja</a></p>");
        return;
    }
    $sandbox = $isSandbox ? "<form method=\"post\" action=\"/orders/{$order['id']}/sandbox-payment\"><button class=\"quiet\">Pagar no sandbox</button></form>" : '';
    $uri = htmlspecialchars($order['pix']['uri']);
    $page = htmlspecialchars($order['pix']['page']);
    $image = htmlspecialchars($order['pix']['qrCodeBase64']);
    showPage('Pague com Pix', <<<HTML
        <h1>Pague $total com Pix</h1>
        <img src="$image" alt="QR Code do Pix" width="240" height="240">
        <p><label for="code">Ou use o Pix copia e cola:</label></p>
        <p><input id="code" readonly value="$uri"> <button type="button" id="copy">Copiar</button></p>
        <p><a href="$page">Abrir a página de pagamento</a>, ou envie o link a quem vai pagar.</p>
        <p role="status">Aguardando o pagamento…</p>
        $sandbox
        <script>
            document.getElementById('copy').onclick = async (event) => {
                const code = document.getElementById('code')
                code.select()
                await navigator.clipboard?.writeText(code.value)
                event.target.textContent = 'Copiado'
            }
            setInterval(async () => {
                const answer = await fetch('/orders/{$order['id']}/status')
                if ((await answer.json()).isPaid) location.reload()
            }, 2000)
        </script>
        HTML);
}

function showPage(string $title, string $content): void
{
    header('Content-Type: text/html; charset=utf-8');
    echo <<<HTML
        <!doctype html>
        <html lang="pt-BR">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>$title</title>
        <style>
            body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 28rem; margin: 3rem auto; padding: 0 1rem; color: #1c2b22 }
            button { font: inherit; padding: .5rem 1rem; border: 0; border-radius: .4rem; background: #14713d; color: #fff; cursor: pointer }
            button.quiet { background: #e3ebe6; color: inherit }
            input { font: inherit; width: 16rem; padding: .4rem }
            img { image-rendering: pixelated }
            .price { font-size: 1.6rem }
        </style>
        $content
        HTML;
}

function redirect(string $path): void
{
    header("Location: $path", true, 303);
}

/** Where Guichê reaches this shop. Behind a proxy, set SHOP_URL. */
function shopUrl(): string
{
    return getenv('SHOP_URL') ?: "http://{$_SERVER['SERVER_NAME']}:{$_SERVER['SERVER_PORT']}";
}

/** @return array{baseUrl: string, clientId: string, clientSecret: string, webhookSecret: string} */
function readSettings(): array
{
    if (getenv('GUICHE_URL') !== false) {
        return [
            'baseUrl' => (string) getenv('GUICHE_URL'),
            'clientId' => (string) getenv('GUICHE_CLIENT_ID'),
            'clientSecret' => (string) getenv('GUICHE_CLIENT_SECRET'),
            'webhookSecret' => (string) getenv('GUICHE_WEBHOOK_SECRET'),
        ];
    }
    $file = __DIR__ . '/../../data/sandbox.json';
    if (!is_file($file)) {
        http_response_code(500);
        exit('Start Guichê first (npm start), or set GUICHE_URL, GUICHE_CLIENT_ID, GUICHE_CLIENT_SECRET and GUICHE_WEBHOOK_SECRET.');
    }
    return json_decode((string) file_get_contents($file), true, 512, JSON_THROW_ON_ERROR);
}
