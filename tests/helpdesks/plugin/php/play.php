<?php

/**
 * Runs a list of steps (JSON on stdin) with the plugin on the stand-ins, and prints the result of each step.
 */

declare(strict_types=1);

use Glpi\Application\View\TemplateRenderer;
use Glpi\Error\ErrorHandler;
use Glpi\Plugin\Hooks;
use GlpiPlugin\Deskbridge\Cron;
use GlpiPlugin\Deskbridge\Health;
use GlpiPlugin\Deskbridge\Http;
use GlpiPlugin\Deskbridge\Page;
use GlpiPlugin\Deskbridge\RedmineLink;
use GlpiPlugin\Deskbridge\Sender;
use GlpiPlugin\Deskbridge\Settings;
use GlpiPlugin\Deskbridge\Spool;
use GlpiPlugin\Deskbridge\TicketTab;

set_error_handler(static function (int $kind, string $text, string $file, int $line): never {
    throw new ErrorException($text, 0, $kind, $file, $line);
});
require __DIR__ . '/glpi.php';

plugin_deskbridge_install();

/** @param array<string, mixed> $step */
function saved(array $step, bool $added): void
{
    global $DB;

    $item = new $step['type']();
    $item->fields = ($step['fields'] ?? []) + ($DB->tables[$step['type']][$step['id']] ?? []);
    $DB->tables[$step['type']][$step['id']] = $item->fields;
    $item->updates = $step['updates'] ?? [];
    if (isset($step['meanwhile'])) {
        $DB->meanwhile = static function () use ($DB, $step): void {
            $row = &$DB->tables[$step['type']][$step['id']];
            $row = $step['meanwhile'] + $row;
        };
    }
    Plugin::doHook($added ? Hooks::ITEM_ADD : Hooks::ITEM_UPDATE, $item);
}

/** @param array<string, mixed> $step */
function item(array $step): CommonDBTM
{
    $item = new $step['type']();
    $item->getFromDB($step['id']);
    return $item;
}

/**
 * Start a purge that another plugin cancels.
 *
 * @param array<string, mixed> $step
 */
function calledOff(array $step): void
{
    $ticket = new Ticket();
    $ticket->getFromDB($step['id']);
    Plugin::doHook(Hooks::PRE_ITEM_PURGE, $ticket);
    $ticket->input = false;
}

/**
 * Submit the page's form, as front/config.php handles it.
 *
 * @param array<string, string> $form
 */
function form(array $form): mixed
{
    Session::$messages = [];
    $done = Page::act($form);
    Page::show($done ? [] : $form);
    $shown = TemplateRenderer::$displayed['@deskbridge/config.html.twig'];
    $rows = array_map(static fn (array $row): array => [$row['kind'], $row['tickets_id'], $row['ids']], $shown['rows']);
    return ['done' => $done, 'messages' => Session::$messages, 'typed' => $shown['typed'], 'rows' => $rows];
}

/** @param array<string, mixed> $step */
function tab(array $step): mixed
{
    TemplateRenderer::$displayed = [];
    Session::$rights = $step['rights'];
    $item = item($step);
    $tab = $step['tab'];
    return [
        (new $tab())->getTabNameForItem($item),
        $tab::displayTabContentForItem($item),
        array_keys(TemplateRenderer::$displayed),
    ];
}

function sender(float $patience = 20.0): Sender
{
    return new Sender(Settings::load(), new Spool(), new Http($patience));
}

/** @param array<string, mixed> $step */
function play(array $step): mixed
{
    global $DB;

    return match ($step['do']) {
        'set'       => Settings::save($step['values']),
        'kept'      => Config::$values,
        'store'     => array_walk($step['tables'], static fn (array $rows, string $table)
            => $DB->tables[Database::table($table)] = array_column($rows, null, 'id')),
        'database'  => array_walk($step['values'], static fn (mixed $value, string $name) => $DB->$name = $value),
        'add'       => saved($step, true),
        'update'    => saved($step, false),
        'purge'     => item($step)->purge(),
        'bin'       => item($step)->bin($step['input'] ?? []),
        'restore'   => item($step)->restore(),
        'merge'     => item($step)->merge($step['other'], $step['with_tasks'] ?? true),
        'clone'     => item($step)->copy(),
        'call off'  => calledOff($step),
        'tab'       => tab($step),
        'form'      => form($step['form']),
        'ticket'    => TicketTab::read(Settings::load(), $step['id'], new Http($step['patience'] ?? 20.0)),
        'tabs'      => Plugin::$tabs,
        'install'   => plugin_deskbridge_install(),
        'take rights' => $DB->update('ProfileRight', ['rights' => 0], ['name' => $step['names']]),
        'granted'   => array_values(array_filter($DB->tables['ProfileRight'] ?? [], static fn (array $row): bool
            => str_starts_with($row['name'], 'plugin_deskbridge') && $row['rights'] > 0)),
        'rows'      => array_values($DB->tables[Spool::TABLE] ?? []),
        'logged'    => ErrorHandler::$logged,
        'send'      => sender($step['patience'] ?? 20.0)->send(60.0, 1000),
        'request'   => sender()->request((new Spool())->due(), $step['now']),
        'test'      => ['status' => sender()->test()->status],
        'wait'      => $DB->update(Spool::TABLE, ['next_try' => 0], [true]),
        'retry'     => (new Spool())->retry(true),
        'cron'      => [[Cron::class, 'cron' . CronTask::$registered[0]](cron($step['comment'] ?? '')), CronTask::$comment],
        'revive'    => revived($step['zombies']),
        'actions'   => CronTask::$registered,
        'trouble'   => Health::trouble(),
        'link'      => [
            RedmineLink::form(Settings::load(), new $step['type']($step['id'])),
            RedmineLink::read(Settings::load(), new $step['type']($step['id']), new Http($step['patience'] ?? 20.0)),
        ],
        'uninstall' => uninstall(),
    };
}

function cron(string $comment): CronTask
{
    $task = new CronTask(1);
    CronTask::$comment = $task->fields['comment'] = $comment;
    return $task;
}

/**
 * @param list<array<string, mixed>> $zombies
 * @return list<array<string, mixed>>
 */
function revived(array $zombies): array
{
    CronTask::$zombies = $zombies;
    Cron::revive();
    return CronTask::$updated;
}

function uninstall(): string
{
    global $DB;
    try {
        plugin_deskbridge_uninstall();
    } catch (RuntimeException $refused) {
        return $refused->getMessage();
    }
    return $DB->tableExists(Spool::TABLE) ? 'the table is left' : 'removed';
}

$steps = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
echo json_encode(array_map(play(...), $steps), JSON_THROW_ON_ERROR);
exit(0);
