<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonGLPI;
use Document;
use Glpi\Application\View\TemplateRenderer;
use ITILFollowup;
use ITILSolution;
use Session;
use Ticket;
use TicketTask;

/**
 * The tab on tickets: the issue, the hours of each task, notes and attachments, and why something was not sent.
 *
 * GLPI loads a tab's content after the page; the tab's name needs no request to deskbridge.
 *
 * @phpstan-type Rows list<array<string, mixed>>
 * @phpstan-type Issue array<string, mixed>
 * @phpstan-type Outcome array{error: ?string, issue: ?Issue, notice: ?string, tasks: Rows, additions: Rows}
 */
final class TicketTab extends CommonGLPI
{
    private const SECONDS = 0.3;
    private const LONGEST_TEXT = 80;

    public static function getTypeName($nb = 0): string
    {
        return 'Redmine';
    }

    public static function getIcon(): string
    {
        return 'ti ti-arrows-exchange';
    }

    public function getTabNameForItem(CommonGLPI $item, $withtemplate = 0): string
    {
        return self::mayRead() ? self::createTabEntry(self::getTypeName(), 0, $item::class, self::getIcon()) : '';
    }

    public static function displayTabContentForItem(CommonGLPI $item, $tabnum = 1, $withtemplate = 0): bool
    {
        if (!$item instanceof Ticket || !self::mayRead() || !$item->canViewItem()) {
            return false;
        }
        session_write_close(); // so this browser's other requests do not wait for the session's lock
        $id = (int) $item->getID();
        TemplateRenderer::getInstance()->display('@deskbridge/ticket.html.twig', [
            'outcome' => self::read(Settings::load(), $id, new Http(self::SECONDS)),
            'unsent'  => (new Spool())->ofTicket($id),
            'kinds'   => Spool::kinds(),
        ]);
        return true;
    }

    private static function mayRead(): bool
    {
        return (bool) Session::haveRight(Rights::TICKET, READ);
    }

    /**
     * @return Outcome the state of a ticket in deskbridge; `error` is set if it cannot be read now
     */
    public static function read(Settings $settings, int $ticket, Http $http): array
    {
        $nothing = ['error' => null, 'issue' => null, 'notice' => null, 'tasks' => [], 'additions' => []];
        if ($settings->console_address === '') {
            return ['error' => __('The address of deskbridge\'s console is not set. Ask an administrator.', 'deskbridge')] + $nothing;
        }
        $answer = $http->get("{$settings->console_address}/api/tickets/$ticket", [
            "authorization: Bearer {$settings->console_token}",
            'accept: application/json',
            'accept-language: ' . strtr((string) ($_SESSION['glpilanguage'] ?? 'en_GB'), '_', '-'),
        ]);
        $known = $answer->json();
        if ($answer->status === 404 && ($known['status'] ?? null) === 404) {
            return ['notice' => __('deskbridge has not received any events of this ticket yet.', 'deskbridge')] + $nothing;
        }
        if ($answer->status !== 200 || !isset($known['tasks'])) {
            $error = __('deskbridge cannot be reached at the moment. Your work is not affected.', 'deskbridge');
            return ['error' => $error . ' (' . $answer->summary() . ')'] + $nothing;
        }
        $issue = $known['issue'];
        return [
            'error'     => null,
            'issue'     => $issue,
            'notice'    => $issue === null || $known['state'] !== 'linked' ? self::sentence($known) : null,
            'tasks'     => array_values(array_filter(array_map(self::task(...), $known['tasks']))),
            'additions' => self::additions($known, $ticket),
        ];
    }

    /**
     * @param array<string, mixed> $known
     * @return array<string, mixed>|null null if the reader may not see this task
     */
    private static function task(array $known): ?array
    {
        $task = new TicketTask();
        $exists = $task->getFromDB((int) $known['id']);
        if ($exists && !$task->canViewItem()) {
            return null;
        }
        $is_other = $known['has_wrong_author'] ?? false; // an older deskbridge does not report it
        return [
            'id'        => (int) $known['id'],
            'date'      => $exists ? $task->fields['begin'] ?? $task->fields['date'] : null,
            'text'      => $exists ? self::plain($task->fields['content']) : '',
            'hours'     => (float) ($known['hours'] ?? ($exists ? $task->fields['actiontime'] / 3600 : 0)),
            'is_logged' => $known['time_entry_id'] !== null && $known['state'] === 'linked' && !$is_other,
            'sentence'  => $is_other
                ? __('The time is logged, but under another user in Redmine. An administrator can correct that.', 'deskbridge')
                : self::sentence($known),
        ];
    }

    /**
     * Return the ticket's notes and documents; an older deskbridge does not report them.
     *
     * @param array<string, mixed> $known
     * @return Rows
     */
    private static function additions(array $known, int $ticket): array
    {
        $notes = array_map(self::note(...), $known['notes'] ?? []);
        $documents = array_map(
            static fn (array $one): ?array => self::document($one, $ticket),
            $known['documents'] ?? []
        );
        return array_values(array_filter([...$notes, ...$documents]));
    }

    /**
     * @param array<string, mixed> $known
     * @return array<string, mixed>|null null if the reader may not see this follow-up or solution
     */
    private static function note(array $known): ?array
    {
        $is_solution = $known['kind'] === 'solution';
        $note = $is_solution ? new ITILSolution() : new ITILFollowup();
        $exists = $note->getFromDB((int) $known['id']);
        if ($exists && !$note->canViewItem()) {
            return null;
        }
        return [
            'what' => $is_solution ? __('Solution', 'deskbridge') : __('Follow-up', 'deskbridge'),
            'date' => $exists ? $note->fields['date'] ?? $note->fields['date_creation'] : null,
            'text' => $exists ? self::plain($note->fields['content']) : '',
        ] + self::addition($known);
    }

    /**
     * Describe a document. Who may see it depends on its links in the ticket, which GLPI's `canViewItem` does not check.
     *
     * @param array<string, mixed> $known
     * @return array<string, mixed>|null null if the reader may not see this document
     */
    private static function document(array $known, int $ticket): ?array
    {
        $document = new Document();
        $exists = $document->getFromDB((int) $known['id']);
        if ($exists && !$document->canViewFile(['itemtype' => Ticket::class, 'items_id' => $ticket])) {
            return null;
        }
        return [
            'what' => __('Document', 'deskbridge'),
            'date' => $exists ? $document->fields['date_creation'] : null,
            'text' => $exists ? self::shortened((string) $document->fields['filename']) : '',
        ] + self::addition($known);
    }

    /**
     * @param array<string, mixed> $known
     * @return array<string, mixed>
     */
    private static function addition(array $known): array
    {
        return [
            'id'       => (int) $known['id'],
            'is_sent'  => in_array($known['state'], ['linked', 'done'], true),
            'sentence' => self::sentence($known),
        ];
    }

    private static function plain(?string $html): string
    {
        return self::shortened(trim(html_entity_decode(strip_tags((string) $html))));
    }

    private static function shortened(string $text): string
    {
        return mb_strimwidth($text, 0, self::LONGEST_TEXT, '…');
    }

    /**
     * Explain a state to the person who works on the ticket; administrators find more on deskbridge's pages.
     *
     * @param array<string, mixed> $known
     */
    private static function sentence(array $known): string
    {
        $reason = (string) ($known['reason'] ?? '');
        return match ($known['code'] ?? '') {
            'no_link' => __('Neither the project nor the entity of this ticket is mapped to a Redmine project. An administrator can add a mapping, and then send past work.', 'deskbridge'),
            'not_done' => __('The task is not done yet. Its time is logged when it is done.', 'deskbridge'),
            'no_time' => __('The task has no duration, so there is nothing to log.', 'deskbridge'),
            'deleted_there', 'ticket_deleted' => __('It was deleted in GLPI before anything was sent.', 'deskbridge'),
            'copy_of_another', 'copied_from_ticket' => __('The task is a copy from a ticket merge. Only the original\'s time is logged.', 'deskbridge'),
            'private_task' => __('The task is private, and private tasks are not sent.', 'deskbridge'),
            default => match ($known['state']) {
                'linked', 'done'      => __('It is in Redmine.', 'deskbridge'),
                'pending'             => __('It is being sent to Redmine.', 'deskbridge') . self::because($reason),
                'claimed', 'in_doubt' => __('It was sent to Redmine, which has not answered yet.', 'deskbridge'),
                'on_hold'             => __('It needs an administrator\'s decision.', 'deskbridge') . self::because($reason),
                'failed'              => __('Redmine rejected it. An administrator can see the reason and send it again.', 'deskbridge') . self::because($reason),
                'gone'                => __('It was deleted in Redmine.', 'deskbridge') . self::because($reason),
                'skipped'             => __('Nothing was sent to Redmine.', 'deskbridge') . self::because($reason),
                default               => __('Nothing is in Redmine yet.', 'deskbridge') . self::because($reason),
            },
        };
    }

    private static function because(string $reason): string
    {
        return $reason === '' ? '' : " ($reason)";
    }
}
