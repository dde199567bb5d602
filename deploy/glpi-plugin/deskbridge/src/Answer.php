<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * A response from deskbridge. Status 0 means no response; then `text` is the reason.
 */
final class Answer
{
    private const LONGEST = 1000;
    private const LONGEST_PAGE = 20_000;
    private const LONGEST_WORDS = 200;

    public function __construct(public readonly int $status, public readonly string $text)
    {
    }

    /** Whether the events themselves were refused, so that sending them again would not help. */
    public function blamesTheEvents(): bool
    {
        return in_array($this->status, [400, 413, 422], true);
    }

    /**
     * @return array<string, mixed>|null the body, if it is a JSON object
     */
    public function json(): ?array
    {
        $data = json_decode($this->text, true);
        return is_array($data) && !array_is_list($data) ? $data : null;
    }

    /** Summarise the response in one line for a person. */
    public function summary(): string
    {
        if ($this->status === 0) {
            return mb_substr($this->text, 0, self::LONGEST);
        }
        $problem = $this->json();
        $said = $problem === null ? $this->page() : implode(' · ', array_filter([
            $problem['title'] ?? '',
            $problem['detail'] ?? '',
            implode('; ', array_map(self::fault(...), (array) ($problem['errors'] ?? []))),
        ]));
        return mb_substr(rtrim("HTTP {$this->status}: " . trim($said), ': '), 0, self::LONGEST);
    }

    /** Return the first visible words of another server's page. */
    private function page(): string
    {
        $text = substr($this->text, 0, self::LONGEST_PAGE);
        $visible = preg_replace('~<(script|style|template)\b.*?(</\1\s*>|$)|<!--.*?(-->|$)~is', ' ', $text) ?? '';
        $words = trim(preg_replace('~\s+~', ' ', strip_tags($visible)) ?? '');
        return mb_strimwidth(mb_scrub($words), 0, self::LONGEST_WORDS, '…');
    }

    /** Describe one invalid field and its fault. */
    private static function fault(mixed $fault): string
    {
        $fault = (array) $fault;
        return trim(($fault['path'] ?? '') . ': ' . ($fault['detail'] ?? ''), ': ');
    }
}
