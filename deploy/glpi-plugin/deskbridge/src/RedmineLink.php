<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonGLPI;
use Entity;
use Glpi\Application\View\TemplateRenderer;
use Session;

/**
 * The tab on projects and entities: the mapped Redmine project, and a link to the form.
 */
final class RedmineLink extends CommonGLPI
{
    private const SECONDS = 2.0;

    public static function getTypeName($nb = 0): string
    {
        return __('Redmine link', 'deskbridge');
    }

    public static function getIcon(): string
    {
        return 'ti ti-link';
    }

    public function getTabNameForItem(CommonGLPI $item, $withtemplate = 0): string
    {
        return self::mayRead() ? self::createTabEntry(self::getTypeName(), 0, $item::class, self::getIcon()) : '';
    }

    public static function displayTabContentForItem(CommonGLPI $item, $tabnum = 1, $withtemplate = 0): bool
    {
        if (!self::mayRead()) {
            return false;
        }
        session_write_close(); // so this browser's other requests do not wait for the session's lock
        $settings = Settings::load();
        TemplateRenderer::getInstance()->display('@deskbridge/link.html.twig', [
            'form'    => self::form($settings, $item),
            'link'    => self::read($settings, $item, new Http(self::SECONDS)),
        ]);
        return true;
    }

    private static function mayRead(): bool
    {
        return (bool) Session::haveRight(Rights::LINK, READ);
    }

    /** Return the address of the console's form for an item, or '' if the console's address is not set. */
    public static function form(Settings $settings, CommonGLPI $item): string
    {
        $kind = $item instanceof Entity ? 'entity' : 'project';
        return $settings->console_address === '' ? '' : "{$settings->console_address}/console/links/$kind/{$item->getID()}";
    }

    /**
     * @return array{project: ?int, name: ?string, url: ?string, category: ?int, error: ?string}
     */
    public static function read(Settings $settings, CommonGLPI $item, Http $http): array
    {
        $unknown = ['project' => null, 'name' => null, 'url' => null, 'category' => null, 'error' => null];
        if ($settings->console_address === '') {
            return ['error' => __('The address of deskbridge\'s console is not set.', 'deskbridge')] + $unknown;
        }
        $kind = $item instanceof Entity ? 'entities' : 'projects';
        $answer = self::ask($settings, "/$kind/" . $item->getID(), $http);
        $link = $answer->json();
        if ($answer->status === 200 && isset($link['tracker_project_id'])) {
            return [
                'project'  => (int) $link['tracker_project_id'],
                'name'     => $link['project'] ?? null,
                'url'      => $link['url'] ?? null,
                'category' => isset($link['default_category_id']) ? (int) $link['default_category_id'] : null,
                'error'    => null,
            ];
        }
        return self::isUnlinked($answer) ? $unknown : ['error' => $answer->summary()] + $unknown;
    }

    /** Test the access with a request for the root entity's mapping: return null if it works, else the error. */
    public static function test(Settings $settings): ?string
    {
        $answer = self::ask($settings, '/entities/0', new Http(self::SECONDS));
        return $answer->status === 200 || self::isUnlinked($answer) ? null : $answer->summary();
    }

    /** Whether the answer is the API's own 404, not that of another server. */
    private static function isUnlinked(Answer $answer): bool
    {
        return $answer->status === 404 && ($answer->json()['status'] ?? null) === 404;
    }

    private static function ask(Settings $settings, string $path, Http $http): Answer
    {
        $headers = ["authorization: Bearer {$settings->console_token}", 'accept: application/json'];
        return $http->get("{$settings->console_address}/api/links$path", $headers);
    }
}
