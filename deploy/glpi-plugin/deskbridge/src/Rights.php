<?php

/**
 * @package   deskbridge
 * @copyright 2026 The deskbridge founders
 * @license   MIT, see LICENSE
 */

declare(strict_types=1);

namespace GlpiPlugin\Deskbridge;

use CommonGLPI;
use Profile;
use ProfileRight;
use Session;

/**
 * The plugin's rights, as a tab on profiles: who sees a ticket's state in Redmine, and who sees mappings.
 */
final class Rights extends CommonGLPI
{
    public const TICKET = 'plugin_deskbridge_ticket';
    public const LINK = 'plugin_deskbridge_link';
    private const ALL = [self::TICKET, self::LINK];

    /** Grant new rights to the profiles that may change GLPI's configuration; a person grants them to other profiles. */
    public static function install(): void
    {
        global $DB;

        foreach (self::ALL as $right) {
            if (countElementsInTable(ProfileRight::getTable(), ['name' => $right]) > 0) {
                continue;
            }
            ProfileRight::addProfileRights([$right]);
            $administrators = $DB->request([
                'SELECT' => 'profiles_id',
                'FROM'   => ProfileRight::getTable(),
                'WHERE'  => ['name' => 'config', 'rights' => ['&', UPDATE]],
            ]);
            foreach ($administrators as $row) {
                ProfileRight::updateProfileRights((int) $row['profiles_id'], [$right => READ]);
            }
        }
    }

    public static function delete(): void
    {
        ProfileRight::deleteProfileRights(self::ALL);
    }

    public static function getTypeName($nb = 0): string
    {
        return 'deskbridge';
    }

    public static function getIcon(): string
    {
        return 'ti ti-arrows-exchange';
    }

    public function getTabNameForItem(CommonGLPI $item, $withtemplate = 0): string
    {
        $is_for_technicians = $item instanceof Profile && $item->fields['interface'] !== 'helpdesk';
        return $is_for_technicians ? self::createTabEntry(self::getTypeName(), 0, $item::class, self::getIcon()) : '';
    }

    public static function displayTabContentForItem(CommonGLPI $item, $tabnum = 1, $withtemplate = 0): bool
    {
        if (!$item instanceof Profile || !Profile::canView()) {
            return false;
        }
        $may_edit = Session::haveRightsOr(Profile::$rightname, [CREATE, UPDATE, PURGE]);
        if ($may_edit) {
            echo '<form method="post" action="' . htmlescape(Profile::getFormURL()) . '">';
        }
        $item->displayRightsChoiceMatrix([
            [
                'itemtype' => TicketTab::class,
                'label'    => __('See a ticket\'s state in Redmine', 'deskbridge'),
                'field'    => self::TICKET,
                'rights'   => [READ => __('Read')],
            ],
            [
                'itemtype' => RedmineLink::class,
                'label'    => __('See the Redmine project that a project or an entity is mapped to', 'deskbridge'),
                'field'    => self::LINK,
                'rights'   => [READ => __('Read')],
            ],
        ], ['canedit' => $may_edit, 'title' => self::getTypeName()]);
        if ($may_edit) {
            echo '<input type="hidden" name="id" value="' . (int) $item->getID() . '">';
            echo '<input type="hidden" name="_glpi_csrf_token" value="' . htmlescape(Session::getNewCSRFToken()) . '">';
            echo '<button type="submit" name="update" value="1" class="btn btn-primary m-3">' . htmlescape(_x('button', 'Save')) . '</button>';
            echo '</form>';
        }
        return true;
    }
}
