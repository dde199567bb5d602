<?php

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use Glpi\Application\View\TemplateRenderer;
use Session;

/**
 * The plugin's page: its settings, whether deskbridge can be reached, and what waits.
 */
final class Page
{
    private const MOST_ROWS = 100;
    private const PATIENCE_S = 2.0;
    private const PAGE_S = 5.0;

    public static function show(): void
    {
        Cron::revive();
        $spool = new Spool();
        TemplateRenderer::getInstance()->display('@deskbridge/config.html.twig', [
            'settings' => Settings::load(),
            'trouble'  => Health::trouble(),
            'waiting'  => $spool->count(false),
            'parked'   => $spool->count(true),
            'rows'     => $spool->look(self::MOST_ROWS),
        ]);
    }

    /** Let GLPI compile the templates anew; otherwise it keeps those of the version before an update. */
    public static function forgetCompiled(): void
    {
        $folder = dirname(__DIR__) . '/templates';
        $twig = (new TemplateRenderer())->getEnvironment();
        $twig->getLoader()->addPath($folder, 'deskbridge'); // not there yet while the plugin is not active
        foreach (glob("$folder/*.twig") as $file) {
            $twig->removeCache('@deskbridge/' . basename($file));
        }
    }

    /**
     * Do what a button says.
     *
     * @param array<string, mixed> $form
     */
    public static function act(#[\SensitiveParameter] array $form): void
    {
        match (true) {
            isset($form['save'])    => self::save($form),
            isset($form['test'])    => self::test(),
            isset($form['send'])    => self::send(),
            isset($form['discard']) => self::discard($form['discard']),
            default                 => null,
        };
    }

    /**
     * @param array<string, mixed> $form
     */
    private static function save(#[\SensitiveParameter] array $form): void
    {
        $faults = Settings::save($form);
        foreach ($faults as $fault) {
            self::tell($fault, ERROR);
        }
        if ($faults === []) {
            self::tell(__('Saved.', 'deskbridge'));
        }
    }

    private static function test(): void
    {
        $settings = Settings::load();
        if (!$settings->isComplete()) {
            self::tell(__('Set the address and the secret first.', 'deskbridge'), ERROR);
            return;
        }
        $answer = (new Sender($settings, new Spool(), new Http(self::PATIENCE_S)))->test();
        if ($answer->status === 422) {
            self::tell(__('deskbridge answers, and the secret is right.', 'deskbridge'));
        } else {
            self::tell(__('Events would not get through.', 'deskbridge') . ' ' . $answer->summary(), ERROR);
        }
        if ($settings->console_address === '') {
            return;
        }
        $wrong = RedmineLink::test($settings);
        if ($wrong === null) {
            self::tell(__('The console answers, and the token is right.', 'deskbridge'));
        } else {
            self::tell(__('Links cannot be read from the console.', 'deskbridge') . ' ' . $wrong, ERROR);
        }
    }

    private static function send(): void
    {
        $spool = new Spool();
        $spool->retry();
        $sender = new Sender(Settings::load(), $spool, new Http(self::PATIENCE_S));
        $sent = $sender->send(self::PAGE_S, PHP_INT_MAX); // the cron sends what is left
        self::tell(sprintf(__('Sent: %d.', 'deskbridge'), $sent));
    }

    private static function discard(string $which): void
    {
        (new Spool())->discard($which === 'all' ? null : (int) $which);
        self::tell(__('Deleted; deskbridge will never get it.', 'deskbridge'), WARNING);
    }

    private static function tell(string $text, int $kind = INFO): void
    {
        Session::addMessageAfterRedirect(htmlescape($text), false, $kind);
    }
}
