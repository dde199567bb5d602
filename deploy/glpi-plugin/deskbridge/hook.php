<?php

/**
 * Install, update, uninstall, and the plugin's part of GLPI's status.
 *
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

use GlpiPlugin\Deskbridge\Cron;
use GlpiPlugin\Deskbridge\Health;
use GlpiPlugin\Deskbridge\Page;
use GlpiPlugin\Deskbridge\Rights;
use GlpiPlugin\Deskbridge\Settings;
use GlpiPlugin\Deskbridge\Spool;
use GlpiPlugin\Deskbridge\TaskCopy;

/**
 * Install or update the plugin; existing data stays, including unsent events.
 */
function plugin_deskbridge_install(): bool
{
    TaskCopy::createTable();
    Spool::install(new Migration(PLUGIN_DESKBRIDGE_VERSION));
    Rights::install();
    Cron::register();
    Page::forgetCompiled();
    return true;
}

/**
 * Uninstall the plugin. If unsent events would be lost, refuse: the page shows the reason, and `bin/console` fails.
 *
 * With DESKBRIDGE_DISCARD=1 in the environment of `bin/console` the events are deleted.
 */
function plugin_deskbridge_uninstall(): bool
{
    $unsent = Spool::isInstalled() ? (new Spool())->count() : 0;
    if ($unsent > 0 && getenv('DESKBRIDGE_DISCARD') !== '1') {
        plugin_deskbridge_refuse_uninstall($unsent);
    }
    Spool::dropTable();
    TaskCopy::dropTable();
    Rights::delete();
    Settings::delete();
    return true;
}

function plugin_deskbridge_refuse_uninstall(int $unsent): never
{
    Cron::register(); // GLPI has already removed it
    $why = sprintf(_n(
        'Not uninstalled: %d event was not sent yet. Send it, or delete it on the plugin\'s page first.',
        'Not uninstalled: %d events were not sent yet. Send them, or delete them on the plugin\'s page first.',
        $unsent,
        'deskbridge'
    ), $unsent);
    if (isCommandLine()) {
        throw new RuntimeException($why . ' (DESKBRIDGE_DISCARD=1 bin/console plugin:uninstall deskbridge)');
    }
    Session::addMessageAfterRedirect(htmlescape($why), false, ERROR);
    Html::back();
}

/**
 * Report the plugin's health to GLPI's status (`/status.php`, `bin/console system:status`).
 *
 * @param array{ok: bool} $status
 * @return array{ok: bool}
 */
function plugin_deskbridge_status(array $status): array
{
    $status['ok'] = Health::trouble() === null;
    return $status;
}
