<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonDBTM;
use CommonITILActor;
use DateTimeImmutable;
use Document;
use Document_Item;
use ITILFollowup;
use ITILSolution;
use Ticket;
use TicketTask;

/**
 * Builds events in the producer's format. The sender adds the time and the ids, which the spool assigns.
 */
final class Event
{
    private const TEXT = ['content', 'is_private'];

    /** Columns whose change causes an event, or changes unsent events. */
    public const SENT = [
        Ticket::class     => [
            'name',
            'content',
            'status',
            'entities_id',
            'urgency',
            'impact',
            'priority',
            'type',
            'itilcategories_id',
            'locations_id',
            'time_to_resolve',
            'externalid',
        ],
        TicketTask::class => [
            'content',
            'state',
            'actiontime',
            'users_id',
            'users_id_tech',
            'date',
            'begin',
            'tickets_id',
            'is_private',
        ],
        ITILFollowup::class => self::TEXT,
        ITILSolution::class => self::TEXT,
    ];

    /** The part of an event that has an item of each type. */
    public const PARTS = [
        Ticket::class       => 'ticket',
        TicketTask::class   => 'task',
        ITILFollowup::class => 'followup',
        ITILSolution::class => 'solution',
    ];

    /** Types of items to which a document of a ticket can be linked. */
    public const HOLDERS = [Ticket::class, ITILFollowup::class, ITILSolution::class, TicketTask::class];

    private const MOST_PROJECTS = 100; // the producer's limit

    /**
     * @return array<string, mixed>
     */
    public static function ofTicket(Ticket $ticket, bool $is_merged = false): array
    {
        $people = new People([self::first($ticket, CommonITILActor::ASSIGN), self::first($ticket, CommonITILActor::REQUESTER)]);
        return ['event' => 'ticket.updated'] + self::origin() + [
            'ticket' => self::ticket($ticket, $people) + array_filter(['is_merged' => $is_merged]),
        ];
    }

    /**
     * @return array<string, mixed>
     */
    public static function ofTask(TicketTask $task, Ticket $ticket, bool $added): array
    {
        $fields = $task->fields;
        $user = (int) $fields['users_id'];
        $technician = (int) $fields['users_id_tech'];
        $people = new People([
            $user,
            $technician,
            self::first($ticket, CommonITILActor::ASSIGN),
            self::first($ticket, CommonITILActor::REQUESTER),
        ]);
        return ['event' => $added ? 'ticket_task.added' : 'ticket_task.updated'] + self::origin() + [
            'ticket' => self::ticket($ticket, $people),
            'task'   => [
                'id'         => (int) $fields['id'],
                ...self::text($task),
                'state'      => (int) $fields['state'],
                'actiontime' => (int) $fields['actiontime'],
                'user'       => $people->get($user),
                'technician' => $people->get($technician),
                'date'       => self::day($fields['begin'] ?? $fields['date']),
                'created_at' => self::moment($fields['date_creation'] ?? null),
            ] + array_filter(['copy_of' => TaskCopy::of($fields)]),
        ];
    }

    /**
     * @param CommonDBTM $note a follow-up or a solution of the ticket
     * @return array<string, mixed>
     */
    public static function ofNote(CommonDBTM $note, Ticket $ticket, bool $added): array
    {
        $fields = $note->fields;
        $user = (int) $fields['users_id'];
        $people = new People([
            $user,
            self::first($ticket, CommonITILActor::ASSIGN),
            self::first($ticket, CommonITILActor::REQUESTER),
        ]);
        $kind = self::PARTS[$note::class];
        return ['event' => $added ? "$kind.added" : "$kind.updated"] + self::origin() + [
            'ticket' => self::ticket($ticket, $people),
            $kind    => [
                'id'         => (int) $fields['id'],
                ...self::text($note),
                'user'       => $people->get($user),
                'date'       => self::moment($fields['date'] ?? $fields['date_creation'] ?? null),
                'created_at' => self::moment($fields['date_creation'] ?? null),
            ],
        ];
    }

    /**
     * Describe a document; deskbridge fetches its content through GLPI's API. The name of a private one is not sent.
     *
     * @param CommonDBTM $holder the item that it was linked to
     * @return array<string, mixed>
     */
    public static function ofDocument(Document_Item $link, Document $document, CommonDBTM $holder, Ticket $ticket): array
    {
        $fields = $document->fields;
        $user = (int) ($link->fields['users_id'] ?? 0) ?: (int) $fields['users_id'];
        $people = new People([
            $user,
            self::first($ticket, CommonITILActor::ASSIGN),
            self::first($ticket, CommonITILActor::REQUESTER),
        ]);
        $is_private = !empty($holder->fields['is_private']);
        return ['event' => 'document.added'] + self::origin() + [
            'ticket'   => self::ticket($ticket, $people),
            'document' => [
                'id'         => (int) $fields['id'],
                'name'       => $is_private ? null : (string) $fields['filename'],
                'mime_type'  => $fields['mime'] ?? null,
                'size'       => self::size((string) $fields['filepath']),
                'user'       => $people->get($user),
                'date'       => self::moment($link->fields['date_creation'] ?? $fields['date_creation'] ?? null),
                'item'       => ['type' => $holder::class, 'id' => (int) $holder->fields['id']],
                'is_private' => $is_private,
                'created_at' => self::moment($fields['date_creation'] ?? null),
            ],
        ];
    }

    /**
     * Return the parts of an item that can become private, or that a person can correct, while its events wait.
     *
     * @return array<string, mixed>
     */
    public static function text(CommonDBTM $item): array
    {
        $fields = $item->fields;
        if ($item instanceof Ticket) {
            return ['title' => (string) $fields['name'], 'content' => Content::fit($fields['content'])];
        }
        $content = Settings::load()->showsText($item) ? Content::fit($fields['content']) : null;
        return ['content' => $content, 'is_private' => !empty($fields['is_private'])];
    }

    /**
     * Build an event that has no text: for a deletion, a restored ticket, or a follow-up that became private.
     *
     * @param array<string, array<string, int|bool>> $item the part of the event that has the item, unless it is the ticket
     * @return array<string, mixed>
     */
    public static function bare(string $event, int $ticket, array $item = []): array
    {
        return ['event' => $event, 'ticket' => ['id' => $ticket]] + $item;
    }

    /**
     * @return array<string, string> the format of texts, and the base address of links in them
     */
    private static function origin(): array
    {
        return ['content_format' => 'html', 'helpdesk_url' => self::address()];
    }

    private static function address(): string
    {
        global $CFG_GLPI;
        return rtrim((string) $CFG_GLPI['url_base'], '/');
    }

    /**
     * @return array<string, mixed>
     */
    private static function ticket(Ticket $ticket, People $people): array
    {
        $fields = $ticket->fields;
        $id = (int) $fields['id'];
        $projects = self::projects($id);
        $project = array_shift($projects);
        return [
            'id'                => $id,
            'url'               => self::address() . "/front/ticket.form.php?id=$id",
            ...self::text($ticket),
            'status'            => (int) $fields['status'],
            'urgency'           => (int) $fields['urgency'],
            'impact'            => (int) $fields['impact'],
            'priority'          => (int) $fields['priority'],
            'type'              => (int) $fields['type'],
            'category'          => self::named('glpi_itilcategories', (int) $fields['itilcategories_id']),
            'location'          => self::named('glpi_locations', (int) $fields['locations_id']),
            'entity_id'         => (int) $fields['entities_id'],
            'entity_name'       => self::name('glpi_entities', (int) $fields['entities_id']),
            'project_id'        => $project,
            'project_name'      => $project === null ? null : self::name('glpi_projects', $project, 'name'),
            'other_project_ids' => array_slice($projects, 0, self::MOST_PROJECTS),
            'technician'        => $people->get(self::first($ticket, CommonITILActor::ASSIGN)),
            'requester'         => $people->get(self::first($ticket, CommonITILActor::REQUESTER)),
            'groups'            => self::groups($ticket),
            'time_to_resolve'   => self::moment($fields['time_to_resolve']),
            'external_id'       => $fields['externalid'],
            'created_at'        => self::moment($fields['date_creation'] ?? null),
        ];
    }

    /** Add the time zone to a time: GLPI reads and shows times in the session's time zone. */
    private static function moment(?string $time): ?string
    {
        return $time === null ? null : (new DateTimeImmutable($time))->format(DATE_ATOM);
    }

    /** Return the size of a stored file in bytes, or null if the file does not exist. */
    private static function size(string $path): ?int
    {
        $file = GLPI_DOC_DIR . "/$path";
        return is_file($file) ? (int) filesize($file) : null;
    }

    private static function day(?string $time): ?string
    {
        return $time === null ? null : substr($time, 0, strlen('2026-11-21'));
    }

    /**
     * @return array{id: int, name: ?string}|null
     */
    private static function named(string $table, int $id): ?array
    {
        return $id > 0 ? ['id' => $id, 'name' => self::name($table, $id)] : null;
    }

    /** Return the name of a row, or null; by default it is the full path in a tree. */
    private static function name(string $table, int $id, string $column = 'completename'): ?string
    {
        global $DB;

        $row = $DB->request(['SELECT' => $column, 'FROM' => $table, 'WHERE' => ['id' => $id]])->current();
        return $row[$column] ?? null;
    }

    /** Return the id of the user who has had a role in the ticket longest, or 0. */
    private static function first(Ticket $ticket, int $role): int
    {
        $people = array_filter(array_column($ticket->getUsers($role), 'users_id', 'id'));
        ksort($people);
        return (int) reset($people);
    }

    /**
     * @return list<array{id: int, name: ?string}> the assigned groups
     */
    private static function groups(Ticket $ticket): array
    {
        $ids = array_column($ticket->getGroups(CommonITILActor::ASSIGN), 'groups_id', 'id');
        ksort($ids);
        return array_map(static fn ($id): array => self::named('glpi_groups', (int) $id), array_values($ids));
    }

    /**
     * @return list<int> the projects of linked project tasks, then the projects linked to the ticket itself
     */
    private static function projects(int $ticket): array
    {
        global $DB;

        $by_task = $DB->request([
            'SELECT'     => 'glpi_projecttasks.projects_id',
            'FROM'       => 'glpi_projecttasks_tickets',
            'INNER JOIN' => [
                'glpi_projecttasks' => [
                    'ON' => ['glpi_projecttasks_tickets' => 'projecttasks_id', 'glpi_projecttasks' => 'id'],
                ],
            ],
            'WHERE'      => ['glpi_projecttasks_tickets.tickets_id' => $ticket],
            'ORDER'      => 'glpi_projecttasks.projects_id',
        ]);
        $by_ticket = $DB->request([
            'SELECT' => 'projects_id',
            'FROM'   => 'glpi_itils_projects',
            'WHERE'  => ['itemtype' => Ticket::class, 'items_id' => $ticket],
            'ORDER'  => 'projects_id',
        ]);
        $ids = [];
        foreach ([$by_task, $by_ticket] as $rows) {
            foreach ($rows as $row) {
                $ids[] = (int) $row['projects_id'];
            }
        }
        return array_values(array_unique(array_filter($ids)));
    }
}
