<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use Glpi\Application\View\TemplateRenderer;
use Session;

/**
 * The plugin's page: its settings, a connection test and the unsent events.
 */
final class Page
{
    private const MOST_ROWS = 100;
    private const SHOWN = ['tickets_id', 'tasks_id', 'kind', 'attempts', 'next_try', 'is_parked', 'answer'];
    private const PATIENCE_S = 2.0;
    private const PAGE_S = 5.0;

    /**
     * @param array<string, mixed> $typed a refused form, to show it filled in again; it is not stored
     */
    public static function show(#[\SensitiveParameter] array $typed = []): void
    {
        Cron::revive();
        $spool = new Spool();
        TemplateRenderer::getInstance()->display('@deskbridge/config.html.twig', [
            'settings' => Settings::load(),
            'typed'    => $typed,
            'trouble'  => Health::trouble(),
            'waiting'  => $spool->count(false),
            'parked'   => $spool->count(true),
            'rows'     => self::joined($spool->look(self::MOST_ROWS)),
            'most'     => self::MOST_ROWS,
            'kinds'    => Spool::kinds(),
        ]);
    }

    /** Delete the compiled templates; otherwise GLPI keeps those of the previous version after an update. */
    public static function forgetCompiled(): void
    {
        $folder = dirname(__DIR__) . '/templates';
        $twig = (new TemplateRenderer())->getEnvironment();
        $twig->getLoader()->addPath($folder, 'deskbridge'); // GLPI adds this path only if the plugin is active
        foreach (glob("$folder/*.twig") as $file) {
            $twig->removeCache('@deskbridge/' . basename($file));
        }
    }

    /**
     * Carry out the action of a button.
     *
     * @param array<string, mixed> $form
     * @return bool false if the form must be shown again
     */
    public static function act(#[\SensitiveParameter] array $form): bool
    {
        if (isset($form['save'])) {
            return self::save($form);
        }
        match (true) {
            isset($form['test'])    => self::test(),
            isset($form['send'])    => self::send(),
            isset($form['discard']) => self::discard($form['discard']),
            default                 => null,
        };
        return true;
    }

    /**
     * @param array<string, mixed> $form
     */
    private static function save(#[\SensitiveParameter] array $form): bool
    {
        $faults = Settings::save($form);
        foreach ($faults as $fault) {
            self::say($fault, ERROR);
        }
        if ($faults === []) {
            self::say(__('Saved.', 'deskbridge'));
        }
        return $faults === [];
    }

    private static function test(): void
    {
        $settings = Settings::load();
        if (!$settings->isComplete()) {
            self::say(__('Set the address and the secret first.', 'deskbridge'), ERROR);
            return;
        }
        $answer = (new Sender($settings, new Spool(), new Http(self::PATIENCE_S)))->test();
        if ($answer->status === Sender::TAKEN) {
            self::say(__('deskbridge answers and accepts the secret.', 'deskbridge'));
        } else {
            self::say(__('Events cannot be delivered.', 'deskbridge') . ' ' . $answer->summary(), ERROR);
        }
        if ($settings->console_address === '') {
            return;
        }
        $wrong = RedmineLink::test($settings);
        if ($wrong === null) {
            self::say(__('The console answers and accepts the token.', 'deskbridge'));
        } else {
            self::say(__('Mappings and links cannot be read from the console.', 'deskbridge') . ' ' . $wrong, ERROR);
        }
    }

    private static function send(): void
    {
        $spool = new Spool();
        $spool->retry(true);
        $sender = new Sender(Settings::load(), $spool, new Http(self::PATIENCE_S));
        $sent = $sender->send(self::PAGE_S, PHP_INT_MAX); // the cron sends the rest
        self::say(sprintf(__('Sent: %d.', 'deskbridge'), $sent));
    }

    private static function discard(string $which): void
    {
        (new Spool())->discard($which === 'all' ? null : array_map(intval(...), explode(',', $which)));
        self::say(__('Deleted. deskbridge will not receive it.', 'deskbridge'), WARNING);
    }

    /**
     * Join rows that follow each other and say the same: GLPI saves a new ticket several times in one request.
     *
     * @param list<array<string, mixed>> $rows
     * @return list<array<string, mixed>> with `ids`, the ids of the rows that each of them stands for
     */
    private static function joined(array $rows): array
    {
        $joined = [];
        foreach ($rows as $row) {
            $same = array_intersect_key($row, array_flip(self::SHOWN));
            $last = array_key_last($joined);
            if ($last !== null && $joined[$last]['same'] === $same) {
                $joined[$last]['ids'][] = $row['id'];
            } else {
                $joined[] = $row + ['same' => $same, 'ids' => [$row['id']]];
            }
        }
        return $joined;
    }

    private static function say(string $text, int $kind = INFO): void
    {
        Session::addMessageAfterRedirect(htmlescape($text), false, $kind);
    }
}
