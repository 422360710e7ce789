<?php

declare(strict_types=1);

namespace Guiche\Http;

/** Sends one HTTP request. It follows no redirect and throws for no status: the SDK decides about both. */
interface Transport
{
    /** @throws TransportFailure when there is no whole answer */
    public function send(Request $request): Response;
}
