<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CronTask;

/**
 * GLPI's automatic action that sends waiting events, and reports problems in its comment.
 */
final class Cron
{
    private const NAME = 'deskbridgesend'; // GLPI's list shows only this name
    private const NAME_BEFORE = 'send'; // the name in version 1.0.0
    private const WARNING = 'deskbridge: ';

    public static function register(): void
    {
        global $DB;

        $DB->update(CronTask::getTable(), ['name' => self::NAME], ['itemtype' => self::class, 'name' => self::NAME_BEFORE]);
        CronTask::register(self::class, self::NAME, MINUTE_TIMESTAMP, ['mode' => CronTask::MODE_EXTERNAL]);
    }

    /** Reset the action if its run was killed: otherwise GLPI treats it as running and never starts another run. */
    public static function revive(): void
    {
        foreach (CronTask::getZombieCronTasks() as $task) {
            if ($task['itemtype'] === self::class) {
                (new CronTask())->update(['id' => $task['id'], 'state' => CronTask::STATE_WAITING]);
            }
        }
    }

    /**
     * @return array{description: string}
     */
    public static function cronInfo(): array
    {
        return ['description' => __('Send queued events to deskbridge', 'deskbridge')];
    }

    /** @return int 1 if something was sent, else 0 */
    public static function cronDeskbridgeSend(CronTask $task): int
    {
        $sent = Sender::everything();
        $task->addVolume($sent);
        self::warn($task, Health::trouble());
        return $sent > 0 ? 1 : 0;
    }

    /** Report problems in the action's comment; a comment that an administrator has written stays. */
    private static function warn(CronTask $task, ?string $trouble): void
    {
        $comment = (string) $task->fields['comment'];
        $warning = $trouble === null ? '' : self::WARNING . $trouble;
        if ($warning !== '') {
            $task->log($warning);
        }
        if ($comment !== $warning && ($comment === '' || str_starts_with($comment, self::WARNING))) {
            (new CronTask())->update(['id' => $task->fields['id'], 'comment' => $warning]);
        }
    }
}
