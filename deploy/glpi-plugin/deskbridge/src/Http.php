<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * HTTP requests with limits on their total time and on the size of an answer. Redirects are returned as answers, not
 * followed.
 */
class Http
{
    /** Bytes of an answer that are read; the rest is cut off. */
    private const MOST_BYTES = 1_000_000;

    public function __construct(private readonly float $seconds)
    {
    }

    /**
     * @param list<string> $headers
     */
    public function post(string $address, #[\SensitiveParameter] array $headers, string $body): Answer
    {
        return $this->request($address, [CURLOPT_POSTFIELDS => $body, CURLOPT_HTTPHEADER => $headers]);
    }

    /**
     * @param list<string> $headers
     */
    public function get(string $address, #[\SensitiveParameter] array $headers): Answer
    {
        return $this->request($address, [CURLOPT_HTTPHEADER => $headers]);
    }

    /**
     * @param array<int, mixed> $options
     */
    private function request(string $address, #[\SensitiveParameter] array $options): Answer
    {
        $request = curl_init($address);
        if ($request === false) {
            return new Answer(0, 'curl cannot be used');
        }
        $text = '';
        $take = static function (\CurlHandle $request, string $piece) use (&$text): int {
            $text .= substr($piece, 0, self::MOST_BYTES - strlen($text));
            return strlen($text) < self::MOST_BYTES ? strlen($piece) : 0; // 0 ends the call
        };
        curl_setopt_array($request, $options + [
            CURLOPT_WRITEFUNCTION  => $take,
            CURLOPT_TIMEOUT_MS     => (int) ($this->seconds * 1000),
            CURLOPT_NOSIGNAL       => true, // otherwise a slow name server could exceed the timeout
            CURLOPT_PROTOCOLS      => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_USERAGENT      => 'deskbridge-glpi/' . PLUGIN_DESKBRIDGE_VERSION,
        ]);
        $isWhole = curl_exec($request);
        return $isWhole || strlen($text) === self::MOST_BYTES
            ? new Answer((int) curl_getinfo($request, CURLINFO_RESPONSE_CODE), $text)
            : new Answer(0, curl_error($request));
    }
}
