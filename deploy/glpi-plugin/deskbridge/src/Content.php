<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * Limits texts to a size that fits into one request: an e-mail from Outlook can have megabytes, most of them in pictures.
 */
final class Content
{
    public const MOST_BYTES = 300_000;
    private const LONGEST_ENTITY = 10;
    private const REST_OF_TAG = '(?:[^>"\']|"[^"]*+"|\'[^\']*+\')*';
    private const PICTURE = '/<img\b' . self::REST_OF_TAG . '?\bsrc\s*=\s*'
        . '(?:"\s*data:[^"]*+"|\'\s*data:[^\']*+\'|data:[^\s>]*+)' . self::REST_OF_TAG . '+>/i';
    private const BASE64 = '~data:[\w.+-]+/[^\s"\'<>,]*;base64,[\w+/=%]*+~i';

    /** Return the text without the data of pictures; if it is too long, truncate it and add a note at its end. */
    public static function fit(?string $html): ?string
    {
        $html = $html === null ? null : self::withoutPictures($html);
        if ($html === null || strlen($html) <= self::MOST_BYTES) {
            return $html;
        }
        $kept = mb_strcut($html, 0, self::MOST_BYTES, 'UTF-8');
        $tag = strrpos($kept, '<');
        if ($tag !== false && !str_contains(substr($kept, $tag), '>')) {
            $kept = substr($kept, 0, $tag); // otherwise the note would become part of the tag
        }
        $kept = preg_replace('/&[#\w]{0,' . self::LONGEST_ENTITY . '}$/', '', $kept) ?? $kept;
        $note = sprintf(
            __('Truncated here: the text has %s, and deskbridge receives the first 300 kB. The full text is in GLPI.', 'deskbridge'),
            round(strlen($html) / 1000) . ' kB'
        );
        return "$kept<p>[$note]</p>";
    }

    /** Put a placeholder where a picture is part of the text, as a `data:` address, and drop other data of this kind. */
    private static function withoutPictures(string $html): string
    {
        return stripos($html, 'data:') === false
            ? $html
            : preg_replace([self::PICTURE, self::BASE64], ['[image]', ''], $html) ?? $html;
    }
}
