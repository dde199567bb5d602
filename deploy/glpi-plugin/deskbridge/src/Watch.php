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
use Document;
use Document_Item;
use Glpi\Error\ErrorHandler;
use Glpi\Plugin\Hooks;
use Group_Ticket;
use ITILFollowup;
use ITILSolution;
use Itil_Project;
use Log;
use ProjectTask_Ticket;
use Ticket;
use Ticket_User;
use TicketTask;
use Throwable;

/**
 * Watches changes to tickets and their tasks, and puts the events into the spool in the same request.
 *
 * Errors are logged and not raised: an exception would abort the save.
 */
final class Watch
{
    /** Links of a ticket: GLPI saves them as separate items, and does not run the ticket's hooks. */
    private const LINKS = [Itil_Project::class, ProjectTask_Ticket::class, Ticket_User::class, Group_Ticket::class];

    /** @var array<int, Ticket> tickets that GLPI purges in this request, by id */
    private static array $purging = [];

    /**
     * @return array<string, array<class-string, callable>> the functions that GLPI calls, by hook and type of item
     */
    public static function hooks(): array
    {
        $linked = array_fill_keys(self::LINKS, [self::class, 'linked']);
        $added = [self::class, 'added'];
        $updated = [self::class, 'updated'];
        $binned = [self::class, 'documentBinned'];
        $purged = [self::class, 'itemPurged'];
        return [
            Hooks::ITEM_ADD       => [
                Ticket::class        => $added,
                TicketTask::class    => $added,
                ITILFollowup::class  => $added,
                ITILSolution::class  => $added,
                Document_Item::class => [self::class, 'attached'],
            ] + $linked,
            Hooks::ITEM_UPDATE    => array_fill_keys(array_keys(Event::SENT), $updated),
            Hooks::PRE_ITEM_PURGE => [Ticket::class => [self::class, 'purging']],
            Hooks::ITEM_PURGE     => [
                Ticket::class        => [self::class, 'deleted'],
                TicketTask::class    => $purged,
                ITILFollowup::class  => $purged,
                ITILSolution::class  => $purged,
                Document_Item::class => [self::class, 'detached'],
            ] + $linked,
            Hooks::ITEM_DELETE    => [Ticket::class => [self::class, 'deleted'], Document::class => $binned],
            Hooks::ITEM_RESTORE   => [Ticket::class => [self::class, 'restored'], Document::class => $binned],
        ];
    }

    public static function added(CommonDBTM $item): void
    {
        if ($item instanceof TicketTask) {
            self::quietly(static fn () => TaskCopy::remember($item->fields));
        }
        self::quietly(static fn () => self::notice($item, true));
    }

    public static function updated(CommonDBTM $item): void
    {
        self::quietly(static function () use ($item): void {
            if (array_intersect($item->updates, Event::SENT[$item::class])) {
                self::notice($item, false);
            }
        });
    }

    /** Record a document that was linked to a ticket or one of its items. */
    public static function attached(Document_Item $link): void
    {
        self::quietly(static fn () => self::recordLink($link, true));
    }

    /** Record that a document was unlinked from a ticket or one of its items. */
    public static function detached(Document_Item $link): void
    {
        self::quietly(static fn () => self::recordLink($link, false));
    }

    /** Record a document that was put into the bin or restored, for each ticket that has it. */
    public static function documentBinned(Document $document): void
    {
        self::quietly(static function () use ($document): void {
            $id = (int) $document->fields['id'];
            foreach (array_unique(array_column(self::documentLinks(['documents_id' => $id]), 'ticket')) as $ticket) {
                self::record($ticket, static fn (Spool $spool) => self::addDocument($spool, $id, $ticket, false));
            }
        });
    }

    /** Record the ticket again after a project, a person or a group was linked to it or unlinked from it. */
    public static function linked(CommonDBTM $link): void
    {
        self::quietly(static function () use ($link): void {
            $id = self::ticketOfLink($link);
            if ($id > 0) {
                self::record($id, static fn (Spool $spool) => self::addTicket($spool, $id));
            }
        });
    }

    /**
     * Remember a ticket that GLPI starts to purge. GLPI removes its actors, links and tasks first, and then the ticket.
     *
     * Until then the hooks see a ticket that is about to disappear, so none of its changes is sent.
     */
    public static function purging(Ticket $ticket): void
    {
        self::$purging[(int) $ticket->fields['id']] = $ticket;
    }

    /**
     * Record that a ticket was purged or put into the bin.
     *
     * GLPI also puts a ticket into the bin after it has merged it into another one. The work on that ticket stays valid:
     * the time of the original tasks is logged, that of the copies is not. A deletion event would stop unfinished events,
     * so the ticket is sent once more, as merged.
     * If the tasks were copied, the same applies when a person purges the merged ticket.
     * Unsent events of a ticket in the bin stay, since the ticket can be restored.
     */
    public static function deleted(Ticket $ticket): void
    {
        $id = (int) $ticket->fields['id'];
        $is_purge = isset(self::$purging[$id]);
        unset(self::$purging[$id]);
        self::quietly(static function () use ($ticket, $id, $is_purge): void {
            if (self::isMerging($ticket)) {
                self::record($id, static fn (Spool $spool) => self::addTicket($spool, $id, true));
            } elseif (!TaskCopy::haveSurvived($id)) {
                self::record($id, static function (Spool $spool) use ($id, $is_purge): void {
                    if ($is_purge) {
                        $spool->forget($id);
                    }
                    $spool->add($id, Event::bare('ticket.deleted', $id));
                });
            }
        });
    }

    /** Record that a task, follow-up or solution was purged. If its ticket is purged, the ticket's deletion covers it. */
    public static function itemPurged(CommonDBTM $item): void
    {
        self::quietly(static function () use ($item): void {
            [$ticket, $id, $part] = [self::ticketOf($item), (int) $item->fields['id'], Event::PARTS[$item::class]];
            self::record($ticket, static function (Spool $spool) use ($ticket, $id, $part): void {
                $spool->forgetItem($ticket, $part, $id);
                if ($part === 'task') {
                    $spool->add($ticket, Event::bare('ticket_task.deleted', $ticket, [$part => ['id' => $id]]));
                } elseif (Settings::load()->notes) {
                    $spool->add($ticket, Event::bare("$part.deleted", $ticket, [$part => ['id' => $id]]));
                }
            });
        });
    }

    /** Record that a ticket was restored, then its state and the tasks that changed while it was in the bin. */
    public static function restored(Ticket $ticket): void
    {
        $id = (int) $ticket->fields['id'];
        self::quietly(static fn () => self::record($id, static function (Spool $spool) use ($id): void {
            $spool->add($id, Event::bare('ticket.restored', $id));
            self::addTicket($spool, $id);
            foreach (self::tasksChangedInBin($id) as $task_id) {
                self::addTask($spool, $task_id, false, false);
            }
        }));
    }

    /** Run an action; log an exception instead of raising it. */
    public static function quietly(callable $action): void
    {
        try {
            $action();
        } catch (Throwable $wrong) {
            try {
                ErrorHandler::logCaughtException($wrong);
            } catch (Throwable) {
                error_log((string) $wrong);
            }
        }
    }

    private static function notice(CommonDBTM $item, bool $added): void
    {
        $ticket = self::ticketOf($item);
        self::record($ticket, static function (Spool $spool) use ($item, $added, $ticket): void {
            $is_privacy_changed = !$added && in_array('is_private', $item->updates, true);
            if (!$added) {
                self::revise($spool, $item, $ticket, $is_privacy_changed);
            }
            match (true) {
                $item instanceof Ticket     => self::addTicket($spool, $ticket),
                $item instanceof TicketTask => self::addTask($spool, (int) $item->fields['id'], $added, $is_privacy_changed),
                default                     => self::addNote($spool, $item, $ticket, $added, $is_privacy_changed),
            };
        });
    }

    /** Put the item's newest text into its unsent events. If it became private or public, so did its documents. */
    private static function revise(Spool $spool, CommonDBTM $item, int $ticket, bool $is_privacy_changed): void
    {
        [$id, $stored] = [(int) $item->fields['id'], new ($item::class)()];
        if ($stored->getFromDB($id)) {
            $spool->revise($ticket, Event::PARTS[$item::class], $id, Event::text($stored));
        }
        $links = $is_privacy_changed ? self::documentLinks(['itemtype' => $item::class, 'items_id' => $id]) : [];
        foreach ($links as $linked) {
            self::addDocument($spool, (int) $linked['link']->fields['documents_id'], $ticket, false);
        }
    }

    private static function recordLink(Document_Item $link, bool $added): void
    {
        [$id, $holder] = [(int) $link->fields['documents_id'], self::holderOf($link)];
        $ticket = $holder === null ? 0 : self::ticketOf($holder);
        self::record($ticket, static fn (Spool $spool) => self::addDocument($spool, $id, $ticket, $added));
    }

    /** Put events of a ticket into the spool, unless GLPI is purging the ticket; they are sent after the response. */
    private static function record(int $ticket, callable $action): void
    {
        if ($ticket === 0 || self::isPurging($ticket)) {
            return;
        }
        $spool = new Spool();
        $spool->inOrder($ticket, static fn () => $action($spool));
        Sender::afterTheAnswer();
    }

    /** Whether GLPI is purging a ticket; a plugin that cancels the purge removes the item's input. */
    private static function isPurging(int $ticket): bool
    {
        return is_array((self::$purging[$ticket] ?? null)?->input);
    }

    /**
     * Whether GLPI puts a ticket into the bin because it has merged it, with or without its tasks.
     *
     * Only a merge both adds a follow-up that names this ticket and puts the ticket into the bin without a notification.
     * The follow-up alone is not enough: a merged ticket can be restored, and a person can put it into the bin later.
     */
    private static function isMerging(Ticket $ticket): bool
    {
        $input = is_array($ticket->input) ? $ticket->input : [];
        return isset($input['_disablenotif'])
            && !isset($input['_purge'])
            && countElementsInTable('glpi_itilfollowups', [
                'itemtype'       => Ticket::class,
                'sourceitems_id' => (int) $ticket->fields['id'],
            ]) > 0;
    }

    /** Add the ticket as it is stored: the item in memory may lack changes that another request has saved. */
    private static function addTicket(Spool $spool, int $id, bool $is_merged = false): void
    {
        $ticket = new Ticket();
        if ($ticket->getFromDB($id) && ($is_merged || !$ticket->fields['is_deleted'])) {
            $spool->add($id, Event::ofTicket($ticket, $is_merged));
        }
    }

    /** Add the task. A private one that is not sent is added once, without its text, when it becomes private. */
    private static function addTask(Spool $spool, int $id, bool $added, bool $is_privacy_changed): void
    {
        [$task, $ticket] = [new TicketTask(), new Ticket()];
        if (
            $task->getFromDB($id)
            && ($is_privacy_changed || Settings::load()->showsText($task))
            && $ticket->getFromDB((int) $task->fields['tickets_id'])
            && !$ticket->fields['is_deleted']
        ) {
            $spool->add((int) $ticket->fields['id'], Event::ofTask($task, $ticket, $added));
        }
    }

    /** Add a follow-up or solution as it is stored, if the settings include it; one that became private at least by its id. */
    private static function addNote(Spool $spool, CommonDBTM $item, int $id, bool $added, bool $is_privacy_changed): void
    {
        [$note, $ticket, $settings] = [new ($item::class)(), new Ticket(), Settings::load()];
        if (!$settings->notes || !$note->getFromDB((int) $item->fields['id']) || !$ticket->getFromDB($id)) {
            return;
        }
        if ($settings->showsText($note) && !$ticket->fields['is_deleted']) {
            $spool->add($id, Event::ofNote($note, $ticket, $added));
        } elseif ($is_privacy_changed && $note->fields['is_private']) {
            $part = Event::PARTS[$item::class];
            $state = ['id' => (int) $note->fields['id'], 'is_private' => true];
            $spool->add($id, Event::bare("$part.updated", $id, [$part => $state]));
        }
    }

    /** Add a document of a ticket, if the settings include documents; or that no public item of the ticket has it any more. */
    private static function addDocument(Spool $spool, int $id, int $ticket_id, bool $added): void
    {
        [$document, $ticket, $is_sent] = [new Document(), new Ticket(), Settings::load()->documents];
        if (!$document->getFromDB($id) || empty($document->fields['filepath'])) {
            return;
        }
        $links = array_filter(
            $document->fields['is_deleted'] ? [] : self::documentLinks(['documents_id' => $id]),
            static fn (array $linked): bool => $linked['ticket'] === $ticket_id
        );
        $linked = reset($links);
        if (!$linked || (!$added && !empty($linked['holder']->fields['is_private']))) {
            $spool->forgetItem($ticket_id, 'document', $id);
            if ($is_sent) {
                $spool->add($ticket_id, Event::bare('document.deleted', $ticket_id, ['document' => ['id' => $id]]));
            }
        } elseif ($is_sent && $ticket->getFromDB($ticket_id) && !$ticket->fields['is_deleted']) {
            $spool->add($ticket_id, Event::ofDocument($linked['link'], $document, $linked['holder'], $ticket));
        }
    }

    /**
     * @param array<string, mixed> $where
     * @return list<array{link: Document_Item, holder: CommonDBTM, ticket: int}> links of documents to tickets and their
     *     items, those to public items first
     */
    private static function documentLinks(array $where): array
    {
        global $DB;

        $links = [];
        foreach ($DB->request(['FROM' => 'glpi_documents_items', 'WHERE' => $where, 'ORDER' => 'id']) as $row) {
            $link = new Document_Item();
            $link->fields = $row;
            $holder = self::holderOf($link);
            $ticket = $holder === null ? 0 : self::ticketOf($holder);
            if ($ticket > 0) {
                $links[empty($holder->fields['is_private'])][] = ['link' => $link, 'holder' => $holder, 'ticket' => $ticket];
            }
        }
        return [...$links[true] ?? [], ...$links[false] ?? []];
    }

    /** Return the item that a document was linked to, or null if it is missing or cannot belong to a ticket. */
    private static function holderOf(Document_Item $link): ?CommonDBTM
    {
        $type = $link->fields['itemtype'];
        if (!in_array($type, Event::HOLDERS, true)) {
            return null;
        }
        $holder = new $type();
        return $holder->getFromDB((int) $link->fields['items_id']) ? $holder : null;
    }

    /** Return the id of the ticket that contains an item, or 0 if it belongs to something else. */
    private static function ticketOf(CommonDBTM $holder): int
    {
        $fields = $holder->fields;
        return (int) match (true) {
            $holder instanceof Ticket     => $fields['id'],
            $holder instanceof TicketTask => $fields['tickets_id'],
            default                       => $fields['itemtype'] === Ticket::class ? $fields['items_id'] : 0,
        };
    }

    /** Return the ticket of a link, or 0 if events do not contain the link: they contain no observers. */
    private static function ticketOfLink(CommonDBTM $link): int
    {
        $fields = $link->fields;
        return (int) match (true) {
            $link instanceof Itil_Project => $fields['itemtype'] === Ticket::class ? $fields['items_id'] : 0,
            $link instanceof Ticket_User,
            $link instanceof Group_Ticket => (int) $fields['type'] === CommonITILActor::OBSERVER ? 0 : $fields['tickets_id'],
            default                       => $fields['tickets_id'],
        };
    }

    /**
     * @return list<int> the tasks of a ticket that were saved after the ticket was put into the bin
     */
    private static function tasksChangedInBin(int $ticket): array
    {
        global $DB;

        $put_in = $DB->request([
            'SELECT' => ['id', 'date_mod'],
            'FROM'   => 'glpi_logs',
            'WHERE'  => [
                'itemtype'      => Ticket::class,
                'items_id'      => $ticket,
                'linked_action' => Log::HISTORY_DELETE_ITEM,
            ],
            'ORDER'  => 'id DESC',
            'LIMIT'  => 1,
        ])->current();
        if ($put_in === null) {
            return [];
        }
        $tasks = $DB->request([
            'SELECT' => 'id',
            'FROM'   => 'glpi_tickettasks',
            'WHERE'  => ['tickets_id' => $ticket, 'date_mod' => ['>=', $put_in['date_mod']]],
            'ORDER'  => 'id',
        ]);
        return array_map(intval(...), array_column(iterator_to_array($tasks), 'id'));
    }
}
