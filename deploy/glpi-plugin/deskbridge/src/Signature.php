<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * Signatures of Standard Webhooks (https://www.standardwebhooks.com).
 */
final class Signature
{
    private const PREFIX = 'whsec_';

    /**
     * @return list<string> the headers that sign a body
     */
    public static function headers(#[\SensitiveParameter] string $secret, string $id, int $now, string $body): array
    {
        $signature = base64_encode(hash_hmac('sha256', "$id.$now.$body", self::key($secret), true));
        return ["webhook-id: $id", "webhook-timestamp: $now", "webhook-signature: v1,$signature"];
    }

    /** Return the bytes of a secret `whsec_<base64>`, or '' if it does not have that form. */
    public static function key(#[\SensitiveParameter] string $secret): string
    {
        if (!str_starts_with($secret, self::PREFIX)) {
            return '';
        }
        return (string) base64_decode(substr($secret, strlen(self::PREFIX)), true);
    }
}
