<?php

/**
 * The plugin's entry point: its name, its requirements and the GLPI hooks that it uses.
 *
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

use Glpi\Plugin\Hooks;
use GlpiPlugin\Deskbridge\RedmineLink;
use GlpiPlugin\Deskbridge\Rights;
use GlpiPlugin\Deskbridge\Settings;
use GlpiPlugin\Deskbridge\TicketTab;
use GlpiPlugin\Deskbridge\Watch;

define('PLUGIN_DESKBRIDGE_VERSION', '1.1.0');
define('PLUGIN_DESKBRIDGE_MIN_GLPI', '11.0.0');
define('PLUGIN_DESKBRIDGE_MAX_GLPI', '11.1.0'); // the first version that it was not tested with

function plugin_version_deskbridge(): array
{
    return [
        'name'         => 'deskbridge',
        'version'      => PLUGIN_DESKBRIDGE_VERSION,
        'author'       => 'The deskbridge founders',
        'license'      => 'MIT',
        'homepage'     => '', // without it GLPI keeps that of the previous version
        'requirements' => [
            'glpi' => ['min' => PLUGIN_DESKBRIDGE_MIN_GLPI, 'max' => PLUGIN_DESKBRIDGE_MAX_GLPI],
            'php'  => ['min' => '8.2', 'exts' => ['curl' => ['required' => true]]],
        ],
    ];
}

function plugin_init_deskbridge(): void
{
    global $PLUGIN_HOOKS;

    if (version_compare(GLPI_VERSION, PLUGIN_DESKBRIDGE_MIN_GLPI, '<')) {
        return; // an older GLPI runs this before it compares the versions, and lacks some of the names below
    }
    $PLUGIN_HOOKS[Hooks::CONFIG_PAGE]['deskbridge'] = 'front/config.php';
    $PLUGIN_HOOKS[Hooks::SECURED_CONFIGS]['deskbridge'] = Settings::SECRETS;
    foreach (Watch::hooks() as $hook => $listeners) {
        $PLUGIN_HOOKS[$hook]['deskbridge'] = $listeners;
    }
    Plugin::registerClass(RedmineLink::class, ['addtabon' => [Project::class, Entity::class]]);
    Plugin::registerClass(TicketTab::class, ['addtabon' => [Ticket::class]]);
    Plugin::registerClass(Rights::class, ['addtabon' => [Profile::class]]);
}
