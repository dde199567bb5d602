<?php

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonITILActor;
use Entity;
use Ticket;
use TicketTask;
use UserEmail;

/**
 * Events as deskbridge's producer takes them; what of it only the spool knows (when, which) is added on sending.
 */
final class Event
{
    /** Columns whose change is an event. */
    public const SENT = [
        Ticket::class     => ['name', 'content', 'status', 'entities_id'],
        TicketTask::class => ['content', 'state', 'actiontime', 'users_id', 'date', 'tickets_id'],
    ];

    /**
     * @return array<string, mixed>
     */
    public static function ofTicket(Ticket $ticket): array
    {
        return ['event' => 'ticket.updated', 'ticket' => self::ticket($ticket)];
    }

    /**
     * @return array<string, mixed>
     */
    public static function ofTask(TicketTask $task, Ticket $ticket, bool $added): array
    {
        $fields = $task->fields;
        return [
            'event'  => $added ? 'ticket_task.added' : 'ticket_task.updated',
            'ticket' => self::ticket($ticket),
            'task'   => [
                'id'         => (int) $fields['id'],
                'content'    => $fields['content'],
                'state'      => (int) $fields['state'],
                'actiontime' => (int) $fields['actiontime'],
                'user'       => self::user((int) $fields['users_id']),
                'date'       => $fields['date'] === null ? null : substr($fields['date'], 0, strlen('2026-11-21')),
            ],
        ];
    }

    /**
     * @return array<string, mixed>
     */
    private static function ticket(Ticket $ticket): array
    {
        $fields = $ticket->fields;
        $projects = self::projects((int) $fields['id']);
        return [
            'id'          => (int) $fields['id'],
            'title'       => (string) $fields['name'],
            'content'     => $fields['content'],
            'status'      => (int) $fields['status'],
            'entity_id'   => (int) $fields['entities_id'],
            'entity_name' => self::entity((int) $fields['entities_id']),
            'project_id'  => array_shift($projects),
            'technician'  => self::technician($ticket),
        ] + ($projects === [] ? [] : ['other_project_ids' => $projects]);
    }

    private static function entity(int $id): ?string
    {
        $entity = new Entity();
        return $entity->getFromDB($id) ? $entity->fields['completename'] : null;
    }

    /**
     * @return array{id: int, email: ?string}|null the one who was assigned first
     */
    private static function technician(Ticket $ticket): ?array
    {
        $assigned = array_filter(array_column($ticket->getUsers(CommonITILActor::ASSIGN), 'users_id', 'id'));
        ksort($assigned);
        return self::user((int) reset($assigned));
    }

    /**
     * @return array{id: int, email: ?string}|null
     */
    private static function user(int $id): ?array
    {
        return $id > 0 ? ['id' => $id, 'email' => UserEmail::getDefaultForUser($id) ?: null] : null;
    }

    /**
     * @return list<int> projects whose tasks the ticket is linked to, then those that it is linked to itself
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
