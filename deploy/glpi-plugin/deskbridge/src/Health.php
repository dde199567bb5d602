<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * The health of the plugin, in words for a person.
 */
final class Health
{
    private const TOO_LONG_S = 900;

    /** Describe all problems, or return null if there are none. */
    public static function trouble(): ?string
    {
        $spool = new Spool();
        $told = [];
        if (!Settings::load()->isComplete()) {
            $told[] = __('No event is sent until deskbridge\'s address and secret are set.', 'deskbridge');
        }
        $since = $spool->waitsSince();
        if ($since !== null && $since < time() - self::TOO_LONG_S) {
            $told[] = sprintf(
                __('%1$d waiting, the oldest since %2$s.', 'deskbridge'),
                $spool->count(false),
                date('Y-m-d H:i', $since)
            );
        }
        if (($parked = $spool->count(true)) > 0) {
            $told[] = sprintf(__('Rejected by deskbridge: %d.', 'deskbridge'), $parked);
        }
        return $told === [] ? null : implode(' ', $told);
    }
}
