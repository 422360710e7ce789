<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** A webhook that cannot be trusted: answer 400 or 401, and do nothing else. */
final class WebhookVerificationException extends GuicheException
{
}
