<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * Which task another one was copied from.
 *
 * GLPI copies the tasks of a ticket that is merged into another one, and notes the ticket they come from
 * (`sourceitems_id`), not the task. A copy keeps who logged the original and the second it was created in, and nobody
 * can edit these two; of several alike, the first copy belongs to the first original.
 */
final class TaskCopy
{
    private const TABLE = 'glpi_tickettasks';
    private const MOST_COPIES = 20;

    /**
     * @param array<string, mixed> $task its fields
     * @return int|null the original's id, or that of its ticket if the original is gone; null: it is no copy
     */
    public static function of(array $task): ?int
    {
        $found = (int) $task['sourceitems_id'] ?: null;
        for ($hop = 0; $hop < self::MOST_COPIES && (int) $task['sourceitems_id'] > 0; $hop++) {
            $task = self::source($task);
            if ($task === null) {
                break;
            }
            $found = (int) $task['id'];
        }
        return $found;
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
            'SELECT' => ['id', 'tickets_id', 'users_id', 'date_creation', 'sourceitems_id'],
            'FROM'   => self::TABLE,
            'WHERE'  => $where + ['users_id' => $task['users_id'], 'date_creation' => $task['date_creation']],
            'ORDER'  => 'id',
        ]);
        return array_values(iterator_to_array($rows));
    }
}
