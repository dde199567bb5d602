<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use DateTimeImmutable;

/**
 * Sends the waiting events of the spool: in order, many events per request, one sender at a time.
 *
 * It deletes a row only after deskbridge has answered 202. A repeated event is harmless because its uuid is the same.
 */
final class Sender
{
    public const TAKEN = 202;
    private const MOST_NAMED = 20;
    private const LOCK = 'plugin_deskbridge_sender';
    private const AFTER_ANSWER_S = 2.0;
    private const PATIENCE_S = 10.0;
    private const CRON_S = 45.0;

    private float $until = 0.0;
    private int $requests = 0;
    private int $sent = 0;

    public function __construct(
        private readonly Settings $settings,
        private readonly Spool $spool,
        private readonly Http $http,
    ) {
    }

    /** Send after the user has received the response: one request, at most two seconds; the cron sends the rest. */
    public static function afterTheAnswer(): void
    {
        static $is_registered = false;
        if (!$is_registered) {
            $is_registered = true;
            register_shutdown_function(static fn () => Watch::quietly(static function (): void {
                $is_answer_out = self::isAnswerOut();
                Cron::revive();
                if ($is_answer_out) {
                    $sender = new self(Settings::load(), new Spool(), new Http(self::AFTER_ANSWER_S));
                    $sender->send(self::AFTER_ANSWER_S, 1);
                }
            }));
        }
    }

    /** Send all due events, and return how many of them deskbridge has accepted. */
    public static function everything(): int
    {
        return (new self(Settings::load(), new Spool(), new Http(self::PATIENCE_S)))->send(self::CRON_S, PHP_INT_MAX);
    }

    public function send(float $seconds, int $requests): int
    {
        global $DB;

        if (!$this->settings->isComplete() || !$DB->getLock(self::LOCK)) {
            return 0;
        }
        [$this->until, $this->requests, $this->sent] = [microtime(true) + $seconds, $requests, 0];
        try {
            do {
                $rows = $this->spool->due();
            } while ($rows !== [] && $this->deliver($rows));
        } finally {
            $DB->releaseLock(self::LOCK);
        }
        return $this->sent;
    }

    /**
     * Build the request that sends these rows.
     *
     * @param list<array<string, mixed>> $rows
     * @return array{list<string>, string} headers and body
     */
    public function request(array $rows, int $now): array
    {
        $body = '[' . implode(',', array_map(self::event(...), $rows)) . ']';
        $headers = Signature::headers($this->settings->secret, $rows[0]['uuid'] ?? 'test', $now, $body);
        return [['content-type: application/json', $this->spoolHeader(count($rows)), ...$headers], $body];
    }

    /** Send a signed request without events. If deskbridge accepts the secret (202), make all waiting rows due. */
    public function test(): Answer
    {
        $answer = $this->http->post($this->settings->address . '/events', ...$this->request([], time()));
        if ($answer->status === self::TAKEN) {
            $this->spool->retry(false);
        }
        return $answer;
    }

    /**
     * @param list<array<string, mixed>> $rows
     * @return bool whether to continue
     */
    private function deliver(array $rows): bool
    {
        if ($this->requests-- <= 0 || microtime(true) >= $this->until) {
            return false;
        }
        $answer = $this->http->post($this->settings->address . '/events', ...$this->request($rows, time()));
        if ($answer->status === self::TAKEN) {
            $this->spool->remove($rows);
            $this->sent += count($rows);
            return true;
        }
        if (!$answer->blamesTheEvents()) {
            $this->spool->putOff($rows[0], $answer);
            return false;
        }
        if (count($rows) === 1) {
            $this->spool->park($rows[0], $answer);
            return true;
        }
        foreach (array_chunk($rows, intdiv(count($rows) + 1, 2)) as $half) {
            if (!$this->deliver($half)) {
                return false;
            }
        }
        return true;
    }

    /** Build the header that reports the events that stay here; deskbridge's metrics and doctor show them. */
    private function spoolHeader(int $sent): string
    {
        $waiting = max(0, $this->spool->count(false) - $sent);
        $tickets = implode(' ', $this->spool->parkedTickets(self::MOST_NAMED));
        return "deskbridge-spool: waiting=$waiting, parked={$this->spool->count(true)}"
            . ($tickets === '' ? '' : ", parked-tickets=$tickets");
    }

    /**
     * @param array<string, mixed> $row
     */
    private static function event(array $row): string
    {
        $occurred_at = DateTimeImmutable::createFromFormat('U.u', (string) $row['occurred_at']);
        return json_encode([
            'delivery_id' => $row['uuid'],
            'occurred_at' => $occurred_at->format('Y-m-d\TH:i:s.u\Z'),
            'sequence'    => (int) $row['id'],
        ] + json_decode($row['event'], true), JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    }

    /** Finish the response; false if PHP cannot (mod_php): then the page would wait, so only the cron sends. */
    private static function isAnswerOut(): bool
    {
        if (PHP_SAPI === 'cli') {
            return true;
        }
        session_write_close(); // otherwise the user's next page would wait for the session's lock
        foreach (['fastcgi_finish_request', 'litespeed_finish_request'] as $finish) {
            if (function_exists($finish)) {
                $finish();
                return true;
            }
        }
        return false;
    }
}
