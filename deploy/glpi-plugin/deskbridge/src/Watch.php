<?php

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonDBTM;
use Glpi\Error\ErrorHandler;
use Ticket;
use TicketTask;
use Throwable;

/**
 * Notices that tickets and their tasks are saved, and puts what is to be sent into the spool, in the same request.
 *
 * Nothing that goes wrong here reaches the save: an exception would abort it.
 */
final class Watch
{
    public static function added(CommonDBTM $item): void
    {
        self::quietly(static fn () => self::notice($item, true));
    }

    public static function updated(CommonDBTM $item): void
    {
        self::quietly(static function () use ($item): void {
            // a task that is private no longer was not sent before, where private ones are not
            $is_revealed = in_array('is_private', $item->updates, true) && !Settings::load()->private_tasks;
            if ($is_revealed || array_intersect($item->updates, Event::SENT[$item::class])) {
                self::notice($item, false);
            }
        });
    }

    /** Log what goes wrong, and go on. */
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
        $is_task = $item instanceof TicketTask;
        if ($is_task && $item->fields['is_private'] && !Settings::load()->private_tasks) {
            return;
        }
        $ticket_id = (int) $item->fields[$is_task ? 'tickets_id' : 'id'];
        $spool = new Spool();
        $spool->inOrder($ticket_id, static function () use ($item, $is_task, $ticket_id, $added, $spool): void {
            // what is stored now: the item in memory may lack what another request has saved meanwhile
            $ticket = new Ticket();
            $task = new TicketTask();
            if ($ticket->getFromDB($ticket_id) && (!$is_task || $task->getFromDB($item->fields['id']))) {
                $spool->add($ticket_id, $is_task ? Event::ofTask($task, $ticket, $added) : Event::ofTicket($ticket));
            }
        });
        Sender::afterTheAnswer();
    }
}
