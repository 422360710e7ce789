<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Money;

/** The code where the customer needs it: on the thank-you page, in the account, and in the e-mail. */
final class PaymentView
{
    public static function register(): void
    {
        add_action('woocommerce_thankyou_' . Plugin::GATEWAY, static fn (int $orderId) => self::show(wc_get_order($orderId)));
        add_action('woocommerce_view_order', static fn (int $orderId) => self::show(wc_get_order($orderId)), 5);
        add_action('woocommerce_email_before_order_table', self::showInEmail(...), 10, 3);
    }

    private static function show(\WC_Order|bool $order): void
    {
        if (!$order instanceof \WC_Order || $order->get_payment_method() !== Plugin::GATEWAY || $order->is_paid()) {
            return;
        }
        $code = Charges::codeToPay($order);
        if ($code === null) {
            if ($order->needs_payment()) {
                $again = esc_html__('Get a new code', 'guiche-for-woocommerce');
                printf('<p>%s <a href="%s">%s</a></p>', esc_html__('The Pix code has expired.', 'guiche-for-woocommerce'), esc_url($order->get_checkout_payment_url()), $again); // phpcs:ignore
            }
            return;
        }
        wp_enqueue_style('guiche-pix', Plugin::url('assets/pix.css'), [], Plugin::VERSION);
        wp_enqueue_script('guiche-pix', Plugin::url('assets/pix.js'), [], Plugin::VERSION, true);
        $copy = esc_html__('Copy code', 'guiche-for-woocommerce');
        ?>
        <section class="guiche-pix" data-status-url="<?php echo esc_url(Endpoints::statusUrl($order)); ?>">
            <h2><?php esc_html_e('Pay with Pix', 'guiche-for-woocommerce'); ?></h2>
            <p><?php esc_html_e('Open the app of your bank, choose Pix, and scan the QR code or paste the code.', 'guiche-for-woocommerce'); ?></p>
            <img src="<?php echo esc_attr($code['qrCode']); ?>" alt="<?php esc_attr_e('QR code of the Pix', 'guiche-for-woocommerce'); ?>" width="240" height="240">
            <p class="guiche-pix-amount"><?php echo esc_html(Money::formatBRL(Charges::centsOf($order))); ?></p>
            <p class="guiche-pix-code">
                <input type="text" readonly value="<?php echo esc_attr($code['uri']); ?>" aria-label="<?php esc_attr_e('Pix code', 'guiche-for-woocommerce'); ?>">
                <button type="button" class="button" data-copied="<?php esc_attr_e('Copied', 'guiche-for-woocommerce'); ?>"><?php echo $copy; // phpcs:ignore ?></button>
            </p>
            <p role="status"><?php echo esc_html(self::validity($code['expiresAt'])); ?></p>
        </section>
        <?php
    }

    private static function showInEmail(\WC_Order $order, bool $isToAdmin, bool $isPlainText = false): void
    {
        if ($isToAdmin || $order->get_payment_method() !== Plugin::GATEWAY || !$order->has_status('on-hold')) {
            return;
        }
        $code = Charges::codeToPay($order);
        if ($code === null) {
            return;
        }
        $title = __('Pay with Pix', 'guiche-for-woocommerce');
        $how = __('Open the app of your bank, choose Pix, and scan the QR code or paste the code.', 'guiche-for-woocommerce');
        $validity = self::validity($code['expiresAt']);
        if ($isPlainText) {
            echo "$title\n\n$how\n\n{$code['uri']}\n\n$validity\n\n"; // phpcs:ignore
            return;
        }
        printf(
            '<h2>%s</h2><p>%s</p><p><img src="%s" alt="%s" width="240" height="240"></p><p style="word-break:break-all;font-family:monospace">%s</p><p>%s</p>',
            esc_html($title),
            esc_html($how),
            esc_url(Endpoints::qrCodeUrl($order)),
            esc_attr__('QR code of the Pix', 'guiche-for-woocommerce'),
            esc_html($code['uri']),
            esc_html($validity),
        );
    }

    private static function validity(int $expiresAt): string
    {
        /* translators: %s: a date and time */
        return sprintf(__('Waiting for the payment. The code is valid until %s.', 'guiche-for-woocommerce'), wp_date(get_option('date_format') . ' ' . get_option('time_format'), $expiresAt));
    }
}
