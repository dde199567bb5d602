<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use TicketTask;

/**
 * Records from which task another one was copied. It has its own table, because the original may be deleted later.
 *
 * If GLPI merges a ticket into another one, it copies the tasks. It stores their source ticket (`sourceitems_id`), but
 * not their source task. A copy keeps the user and the creation time of its original, and nobody can edit that time.
 * If several tasks have the same user and time, the first copy belongs to the first original.
 *
 * A copy that is finished after the merge is separate work: its original stays open, in a ticket that is closed.
 */
final class TaskCopy
{
    public const TABLE = 'glpi_plugin_deskbridge_copies';
    private const TASKS = 'glpi_tickettasks';

    public static function createTable(): void
    {
        global $DB;

        $DB->doQuery('CREATE TABLE IF NOT EXISTS `' . self::TABLE . '` (
            `id` int unsigned NOT NULL,
            `original` int unsigned NOT NULL,
            `tickets_id` int unsigned NOT NULL,
            `state` int NOT NULL,
            PRIMARY KEY (`id`),
            KEY `tickets_id` (`tickets_id`)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC');
    }

    public static function dropTable(): void
    {
        global $DB;
        $DB->doQuery('DROP TABLE IF EXISTS `' . self::TABLE . '`');
    }

    /**
     * Record the original of a new task, if the task is a copy.
     *
     * @param array<string, mixed> $task the task's fields
     */
    public static function remember(array $task): void
    {
        global $DB;

        $source = (int) $task['sourceitems_id'] > 0 ? self::source($task) : null;
        if ($source !== null) {
            $DB->insert(self::TABLE, [
                'id'         => $task['id'],
                'original'   => self::of($source) ?? (int) $source['id'],
                'tickets_id' => $task['sourceitems_id'],
                'state'      => $task['state'],
            ]);
        }
    }

    /**
     * Whether copies of a ticket's tasks still exist in another ticket; if so, it was merged.
     *
     * The other ticket may be in the bin, since it can be restored and its copies are never logged themselves. It may have
     * been merged again, so a copy of a copy counts too, even if the copy between them no longer exists.
     */
    public static function haveSurvived(int $ticket): bool
    {
        global $DB;

        $of_ticket = $DB->request(['FROM' => self::TABLE, 'WHERE' => ['tickets_id' => $ticket]]);
        $originals = array_column(iterator_to_array($of_ticket), 'original');
        $copies = $originals === [] ? [] : $DB->request(['FROM' => self::TABLE, 'WHERE' => ['original' => $originals]]);
        foreach ($copies as $row) {
            $copy = new TicketTask();
            if ($copy->getFromDB((int) $row['id']) && (int) $copy->fields['tickets_id'] !== $ticket) {
                return true;
            }
        }
        return false;
    }

    /**
     * @param array<string, mixed> $task the task's fields
     * @return int|null the task that its time belongs to, or null if that is the task itself
     */
    public static function of(array $task): ?int
    {
        global $DB;

        $row = $DB->request(['FROM' => self::TABLE, 'WHERE' => ['id' => $task['id'], 'state' => $task['state']]])->current();
        return $row === null ? null : (int) $row['original'];
    }

    /**
     * @param array<string, mixed> $copy
     * @return array<string, mixed>|null
     */
    private static function source(array $copy): ?array
    {
        $of_copy = ['tickets_id' => $copy['tickets_id'], 'sourceitems_id' => $copy['sourceitems_id']];
        $place = array_search((int) $copy['id'], array_column(self::alike($copy, $of_copy), 'id'));
        $originals = self::alike($copy, ['tickets_id' => $copy['sourceitems_id']]);
        return $originals[(int) $place] ?? null;
    }

    /**
     * @param array<string, mixed> $task
     * @param array<string, mixed> $where
     * @return list<array<string, mixed>>
     */
    private static function alike(array $task, array $where): array
    {
        global $DB;

        $rows = $DB->request([
            'SELECT' => ['id', 'state'],
            'FROM'   => self::TASKS,
            'WHERE'  => $where + ['users_id' => $task['users_id'], 'date_creation' => $task['date_creation']],
            'ORDER'  => 'id',
        ]);
        return array_values(iterator_to_array($rows));
    }
}
