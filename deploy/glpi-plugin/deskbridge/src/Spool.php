<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use Glpi\DBAL\QueryFunction;
use Migration;

/**
 * The unsent events, oldest first. A row stays until deskbridge accepts it, a person deletes it, or its item is purged.
 *
 * While the oldest row waits (`next_try`), all rows behind it wait. Parked rows were refused; no row waits for them.
 */
final class Spool
{
    public const TABLE = 'glpi_plugin_deskbridge_events';
    private const MOST_EVENTS = 50;
    private const MOST_BYTES = 500_000; // the producer's limit is 1 MiB
    private const WAIT_S = 45; // less than a minute, so that GLPI's next run tries again

    /** Columns that were added after version 1.0.0, with their types as GLPI's Migration takes them. */
    private const ADDED = [
        'kind'     => "varchar(64) NOT NULL DEFAULT ''",
        'tasks_id' => "int unsigned NOT NULL DEFAULT '0'",
    ];

    /**
     * @return array<string, string> the names of events on pages
     */
    public static function kinds(): array
    {
        return [
            'ticket.updated'      => __('ticket saved', 'deskbridge'),
            'ticket.deleted'      => __('ticket deleted', 'deskbridge'),
            'ticket.restored'     => __('ticket restored', 'deskbridge'),
            'ticket_task.added'   => __('new task', 'deskbridge'),
            'ticket_task.updated' => __('task saved', 'deskbridge'),
            'ticket_task.deleted' => __('task deleted', 'deskbridge'),
            'followup.added'      => __('new follow-up', 'deskbridge'),
            'followup.updated'    => __('follow-up saved', 'deskbridge'),
            'followup.deleted'    => __('follow-up deleted', 'deskbridge'),
            'solution.added'      => __('new solution', 'deskbridge'),
            'solution.updated'    => __('solution saved', 'deskbridge'),
            'solution.deleted'    => __('solution deleted', 'deskbridge'),
            'document.added'      => __('new document', 'deskbridge'),
            'document.deleted'    => __('document deleted', 'deskbridge'),
        ];
    }

    /** Create the table of version 1.0.0 if it does not exist, and add the later columns. */
    public static function install(Migration $migration): void
    {
        global $DB;

        $DB->doQuery('CREATE TABLE IF NOT EXISTS `' . self::TABLE . '` (
            `id` int unsigned NOT NULL AUTO_INCREMENT,
            `uuid` char(36) NOT NULL,
            `tickets_id` int unsigned NOT NULL,
            `event` longtext NOT NULL,
            `occurred_at` timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
            `is_parked` tinyint NOT NULL DEFAULT 0,
            `attempts` int unsigned NOT NULL DEFAULT 0,
            `next_try` int unsigned NOT NULL DEFAULT 0,
            `answer` text,
            PRIMARY KEY (`id`),
            KEY `waiting` (`is_parked`, `id`),
            KEY `tickets_id` (`tickets_id`)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC');
        foreach (self::ADDED as $name => $type) {
            $migration->addField(self::TABLE, $name, $type);
        }
        $migration->migrationOneTable(self::TABLE);
    }

    public static function isInstalled(): bool
    {
        global $DB;
        return $DB->tableExists(self::TABLE);
    }

    public static function dropTable(): void
    {
        global $DB;
        $DB->doQuery('DROP TABLE IF EXISTS `' . self::TABLE . '`');
    }

    /**
     * Run an action for a ticket while no other request does so for the same ticket.
     *
     * So the ticket's last row also has its newest state. If the lock is not free within a second, run the action anyway.
     */
    public function inOrder(int $ticket, callable $action): void
    {
        global $DB;

        $name = $DB->quote(md5($DB->dbdefault) . ".deskbridge.$ticket");
        $DB->doQuery("SELECT GET_LOCK($name, 1)");
        try {
            $action();
        } finally {
            $DB->doQuery("SELECT RELEASE_LOCK($name)");
        }
    }

    /**
     * @param array<string, mixed> $event
     */
    public function add(int $ticket, array $event): void
    {
        global $DB;

        $DB->insert(self::TABLE, [
            'uuid'       => self::uuid(),
            'tickets_id' => $ticket,
            'event'      => self::encoded($event),
            'kind'       => $event['event'],
            'tasks_id'   => $event['task']['id'] ?? 0,
        ]);
    }

    /**
     * @return list<array<string, mixed>> the oldest rows that fit into one request; none while they have to wait
     */
    public function due(): array
    {
        global $DB;

        $due = [];
        $bytes = 0;
        $rows = $DB->request([
            'SELECT' => ['id', 'uuid', 'event', 'attempts', 'next_try', self::occurredAt()],
            'FROM'   => self::TABLE,
            'WHERE'  => ['is_parked' => 0],
            'ORDER'  => 'id',
            'LIMIT'  => self::MOST_EVENTS,
        ]);
        foreach ($rows as $row) {
            $bytes += strlen($row['event']);
            if ($due === [] ? $row['next_try'] > time() : $bytes > self::MOST_BYTES) {
                break;
            }
            $due[] = $row;
        }
        return $due;
    }

    /**
     * @param list<array<string, mixed>> $rows
     */
    public function remove(array $rows): void
    {
        global $DB;
        $DB->delete(self::TABLE, ['id' => array_column($rows, 'id')]);
    }

    /**
     * Try a row again within a minute.
     *
     * @param array<string, mixed> $row
     */
    public function putOff(array $row, Answer $answer): void
    {
        $this->note($row, $answer, ['next_try' => time() + self::WAIT_S]);
    }

    /**
     * Park a row that was refused.
     *
     * @param array<string, mixed> $row
     */
    public function park(array $row, Answer $answer): void
    {
        $this->note($row, $answer, ['is_parked' => 1]);
    }

    /** Make all waiting rows due now, and optionally the parked rows. */
    public function retry(bool $parked): void
    {
        global $DB;
        $DB->update(self::TABLE, ['is_parked' => 0, 'next_try' => 0], $parked ? [true] : ['is_parked' => 0]);
    }

    /** Delete the unsent events of a purged ticket: deskbridge would process them before the deletion. */
    public function forget(int $ticket): void
    {
        global $DB;
        $DB->delete(self::TABLE, ['tickets_id' => $ticket]);
    }

    /** Delete the unsent events of a deleted item of a ticket. */
    public function forgetItem(int $ticket, string $part, int $id): void
    {
        $this->discard(array_keys($this->ofItem($ticket, $part, $id)));
    }

    /**
     * Change an item in its unsent events, so that deskbridge never receives a text that GLPI no longer shows.
     *
     * @param array<string, mixed> $newest fields of the item; events without texts, such as deletions, do not change
     */
    public function revise(int $ticket, string $part, int $id, array $newest): void
    {
        global $DB;

        foreach ($this->ofItem($ticket, $part, $id) as $row => $event) {
            if (array_key_exists('content', $event[$part])) {
                $event[$part] = $newest + $event[$part];
                $DB->update(self::TABLE, ['event' => self::encoded($event)], ['id' => $row]);
            }
        }
    }

    /**
     * @param list<int>|null $ids the rows to delete; null for all
     */
    public function discard(?array $ids): void
    {
        global $DB;
        if ($ids !== []) { // GLPI's database refuses an empty list
            $DB->delete(self::TABLE, $ids === null ? [true] : ['id' => $ids]);
        }
    }

    public function count(?bool $parked = null): int
    {
        return countElementsInTable(self::TABLE, $parked === null ? [] : ['is_parked' => (int) $parked]);
    }

    /**
     * @return list<array<string, mixed>> rows for a page, without their events: parked rows first, then the oldest
     */
    public function look(int $most): array
    {
        global $DB;

        $rows = $DB->request([
            'SELECT' => [
                'id',
                'tickets_id',
                'tasks_id',
                'kind',
                'attempts',
                'next_try',
                'is_parked',
                'answer',
                self::occurredAt(),
            ],
            'FROM'   => self::TABLE,
            'ORDER'  => ['is_parked DESC', 'id'],
            'LIMIT'  => $most,
        ]);
        return array_map(
            static fn (array $row): array => ['occurred_at' => (int) $row['occurred_at']] + $row,
            array_values(iterator_to_array($rows))
        );
    }

    /**
     * @return list<array<string, mixed>> the unsent rows of a ticket, oldest first, without their events
     */
    public function ofTicket(int $ticket): array
    {
        global $DB;

        $rows = $DB->request([
            'SELECT' => ['id', 'tasks_id', 'kind', 'is_parked', 'answer'],
            'FROM'   => self::TABLE,
            'WHERE'  => ['tickets_id' => $ticket],
            'ORDER'  => 'id',
        ]);
        return array_values(iterator_to_array($rows));
    }

    /**
     * @return list<int> tickets with parked rows, in ascending order
     */
    public function parkedTickets(int $most): array
    {
        global $DB;

        $rows = $DB->request([
            'SELECT'   => 'tickets_id',
            'DISTINCT' => true,
            'FROM'     => self::TABLE,
            'WHERE'    => ['is_parked' => 1],
            'ORDER'    => 'tickets_id',
            'LIMIT'    => $most,
        ]);
        return array_map(intval(...), array_column(iterator_to_array($rows, false), 'tickets_id'));
    }

    /** Return the time of the oldest event that is not parked, in seconds since the epoch, or null. */
    public function waitsSince(): ?int
    {
        global $DB;

        $oldest = $DB->request([
            'SELECT' => [self::occurredAt()],
            'FROM'   => self::TABLE,
            'WHERE'  => ['is_parked' => 0],
            'ORDER'  => 'id',
            'LIMIT'  => 1,
        ])->current();
        return $oldest === null ? null : (int) $oldest['occurred_at'];
    }

    /**
     * @return array<int, array<string, mixed>> the unsent events of a ticket that contain an item, by row
     */
    private function ofItem(int $ticket, string $part, int $id): array
    {
        global $DB;

        $rows = $DB->request(['SELECT' => ['id', 'event'], 'FROM' => self::TABLE, 'WHERE' => ['tickets_id' => $ticket]]);
        $events = [];
        foreach ($rows as $row) {
            $event = json_decode($row['event'], true);
            if (($event[$part]['id'] ?? null) === $id) {
                $events[(int) $row['id']] = $event;
            }
        }
        return $events;
    }

    /**
     * @param array<string, mixed> $event
     */
    private static function encoded(array $event): string
    {
        $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;
        return json_encode($event, $flags);
    }

    /**
     * @param array<string, mixed> $row
     * @param array<string, int> $values
     */
    private function note(array $row, Answer $answer, array $values): void
    {
        global $DB;

        $values += ['attempts' => $row['attempts'] + 1, 'answer' => $answer->summary()];
        $DB->update(self::TABLE, $values, ['id' => $row['id']]);
    }

    /** Select the time in seconds since the epoch, with microseconds; the session's time zone does not matter. */
    private static function occurredAt(): object
    {
        return QueryFunction::unixTimestamp('occurred_at', 'occurred_at');
    }

    private static function uuid(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }
}
