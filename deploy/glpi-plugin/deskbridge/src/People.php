<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

/**
 * The people of an event with their names and e-mail addresses, read with two queries.
 */
final class People
{
    private const MOST_EMAILS = 20; // the producer's limit

    /** @var array<int, array{id: int, email: ?string, name: ?string, emails?: list<string>}> */
    private array $known = [];

    /**
     * @param list<int> $ids ids of 0 or less are ignored
     */
    public function __construct(array $ids)
    {
        global $DB;

        $ids = array_values(array_unique(array_filter($ids, static fn (int $id): bool => $id > 0)));
        if ($ids === []) {
            return;
        }
        foreach ($ids as $id) {
            $this->known[$id] = ['id' => $id, 'email' => null, 'name' => null];
        }
        $names = $DB->request([
            'SELECT' => ['id', 'name', 'realname', 'firstname'],
            'FROM'   => 'glpi_users',
            'WHERE'  => ['id' => $ids],
        ]);
        foreach ($names as $row) {
            $name = formatUserName($row['id'], $row['name'], $row['realname'], $row['firstname']);
            $this->known[(int) $row['id']]['name'] = $name;
        }
        $emails = $DB->request([
            'SELECT' => ['users_id', 'email'],
            'FROM'   => 'glpi_useremails',
            'WHERE'  => ['users_id' => $ids],
            'ORDER'  => ['is_default DESC', 'id'],
        ]);
        $all = [];
        foreach ($emails as $row) {
            if ($row['email']) {
                $all[(int) $row['users_id']][] = $row['email'];
            }
        }
        foreach ($all as $id => $addresses) {
            $this->known[$id]['email'] = $addresses[0];
            if (count($addresses) > 1) {
                $this->known[$id]['emails'] = array_slice($addresses, 0, self::MOST_EMAILS);
            }
        }
    }

    /**
     * @return array{id: int, email: ?string, name: ?string, emails?: list<string>}|null
     */
    public function get(int $id): ?array
    {
        return $this->known[$id] ?? null;
    }
}
