<?php

/**
 * What GLPI asks a plugin first: its name, what it needs, and what it wants to be told.
 */

declare(strict_types=1);

use Glpi\Plugin\Hooks;
use GlpiPlugin\Deskbridge\RedmineLink;
use GlpiPlugin\Deskbridge\Settings;
use GlpiPlugin\Deskbridge\Watch;

define('PLUGIN_DESKBRIDGE_VERSION', '1.0.0');

function plugin_version_deskbridge(): array
{
    return [
        'name'         => 'deskbridge',
        'version'      => PLUGIN_DESKBRIDGE_VERSION,
        'author'       => 'deskbridge',
        'license'      => 'MIT',
        'requirements' => [
            'glpi' => ['min' => '11.0.0', 'max' => '11.99'],
            'php'  => ['min' => '8.2', 'exts' => ['curl' => ['required' => true]]],
        ],
    ];
}

function plugin_init_deskbridge(): void
{
    global $PLUGIN_HOOKS;

    $PLUGIN_HOOKS[Hooks::CONFIG_PAGE]['deskbridge'] = 'front/config.php';
    $PLUGIN_HOOKS[Hooks::SECURED_CONFIGS]['deskbridge'] = Settings::SECRETS;
    $PLUGIN_HOOKS[Hooks::ITEM_ADD]['deskbridge'] = [
        Ticket::class     => [Watch::class, 'added'],
        TicketTask::class => [Watch::class, 'added'],
    ];
    $PLUGIN_HOOKS[Hooks::ITEM_UPDATE]['deskbridge'] = [
        Ticket::class     => [Watch::class, 'updated'],
        TicketTask::class => [Watch::class, 'updated'],
    ];
    Plugin::registerClass(RedmineLink::class, ['addtabon' => [Project::class, Entity::class]]);
}
