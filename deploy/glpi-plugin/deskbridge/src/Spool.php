<?php

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use Glpi\DBAL\QueryFunction;

/**
 * The events that were not sent yet, oldest first. A row goes when deskbridge has taken it over, or by a person.
 *
 * While the oldest has to wait (`next_try`), everything waits behind it. Parked rows were refused, and stand aside.
 */
final class Spool
{
    public const TABLE = 'glpi_plugin_deskbridge_events';
    private const MOST_EVENTS = 50;
    private const MOST_BYTES = 500_000; // the producer takes 1 MiB
    private const LONGEST_WAIT_S = 600;

    public static function createTable(): void
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
     * Do something for a ticket that no other request does for it at the same time.
     *
     * So the last of its rows was also read last. After a second it is done anyhow.
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

        $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;
        $DB->insert(self::TABLE, [
            'uuid'       => self::uuid(),
            'tickets_id' => $ticket,
            'event'      => json_encode($event, $flags),
        ]);
    }

    /**
     * @return list<array<string, mixed>> the oldest rows, as many as one request takes; none while they have to wait
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
     * Try a row again later, the later the more often it was tried.
     *
     * @param array<string, mixed> $row
     */
    public function putOff(array $row, Answer $answer): void
    {
        $wait = min(60 * 2 ** min((int) $row['attempts'], 10), self::LONGEST_WAIT_S);
        $this->note($row, $answer, ['next_try' => time() + $wait]);
    }

    /**
     * Set a row aside that was refused.
     *
     * @param array<string, mixed> $row
     */
    public function park(array $row, Answer $answer): void
    {
        $this->note($row, $answer, ['is_parked' => 1]);
    }

    /** Let everything be tried at once, parked rows too. */
    public function retry(): void
    {
        global $DB;
        $DB->update(self::TABLE, ['is_parked' => 0, 'next_try' => 0], [true]);
    }

    /** Delete one row, or all of them. */
    public function discard(?int $id): void
    {
        global $DB;
        $DB->delete(self::TABLE, $id === null ? [true] : ['id' => $id]);
    }

    public function count(?bool $parked = null): int
    {
        return countElementsInTable(self::TABLE, $parked === null ? [] : ['is_parked' => (int) $parked]);
    }

    /**
     * @return list<array<string, mixed>> rows to look at, without their events: parked ones first, then the oldest
     */
    public function look(int $most): array
    {
        global $DB;

        $rows = $DB->request([
            'SELECT' => ['id', 'tickets_id', 'attempts', 'next_try', 'is_parked', 'answer', self::occurredAt()],
            'FROM'   => self::TABLE,
            'ORDER'  => ['is_parked DESC', 'id'],
            'LIMIT'  => $most,
        ]);
        return array_map(
            static fn (array $row): array => ['occurred_at' => (int) $row['occurred_at']] + $row,
            array_values(iterator_to_array($rows))
        );
    }

    /** Since when the oldest event waits that is not parked: seconds since the epoch, or null. */
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
     * @param array<string, mixed> $row
     * @param array<string, int> $values
     */
    private function note(array $row, Answer $answer, array $values): void
    {
        global $DB;

        $values += ['attempts' => $row['attempts'] + 1, 'answer' => $answer->summary()];
        $DB->update(self::TABLE, $values, ['id' => $row['id']]);
    }

    /** Seconds since the epoch, with microseconds, whatever the session's time zone is. */
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
