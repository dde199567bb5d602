<?php

/**
 * Small stand-ins for the parts of GLPI 11 that the plugin uses, on a database in memory.
 *
 * GLPI's changes to a ticket and the order of its hooks are as observed with GLPI 11.0.6.
 */

declare(strict_types=1);

namespace Glpi\DBAL {
    final class QueryFunction
    {
        public static function unixTimestamp(string $column, string $alias): object
        {
            return (object) ['column' => $column, 'alias' => $alias];
        }
    }
}

namespace Glpi\Plugin {
    final class Hooks
    {
        public const CONFIG_PAGE = 'config_page';
        public const SECURED_CONFIGS = 'secured_configs';
        public const ITEM_ADD = 'item_add';
        public const ITEM_UPDATE = 'item_update';
        public const ITEM_DELETE = 'item_delete';
        public const ITEM_RESTORE = 'item_restore';
        public const ITEM_PURGE = 'item_purge';
        public const PRE_ITEM_PURGE = 'pre_item_purge';
    }
}

namespace Glpi\Error {
    final class ErrorHandler
    {
        /** @var list<string> */
        public static array $logged = [];

        public static function logCaughtException(\Throwable $caught): void
        {
            self::$logged[] = $caught->getMessage();
        }
    }
}

namespace Glpi\Application\View {
    final class TemplateRenderer
    {
        /** @var array<string, array<string, mixed>> the variables of the last display, by template */
        public static array $displayed = [];

        public static function getInstance(): self
        {
            return new self();
        }

        /** @param array<string, mixed> $variables */
        public function display(string $template, array $variables): void
        {
            self::$displayed[$template] = $variables;
        }

        public function getEnvironment(): self
        {
            return $this;
        }

        public function getLoader(): self
        {
            return $this;
        }

        public function addPath(string $path, string $namespace): void
        {
        }

        public function removeCache(string $template): void
        {
        }
    }
}

namespace {
    const MINUTE_TIMESTAMP = 60;
    const READ = 1;
    const UPDATE = 2;
    const CREATE = 4;
    const PURGE = 16;
    const INFO = 0;
    const WARNING = 1;
    const ERROR = 2;

    function __(string $text, string $domain): string
    {
        return $text;
    }

    function _n(string $one, string $many, int $count, string $domain): string
    {
        return $count === 1 ? $one : $many;
    }

    function htmlescape(string $text): string
    {
        return htmlspecialchars($text);
    }

    function formatUserName(int $id, string $login, ?string $realname, ?string $firstname): string
    {
        return trim("$realname $firstname") ?: $login;
    }

    function isCommandLine(): bool
    {
        return true;
    }

    /** @param array<string, mixed> $where */
    function countElementsInTable(string $table, array $where): int
    {
        global $DB;
        if ($DB->is_unreadable) {
            throw new RuntimeException('the connection is lost');
        }
        return count($DB->request(['FROM' => $table, 'WHERE' => $where]));
    }

    final class Database
    {
        /** The type of item that each table stores. */
        private const TABLES = [
            'glpi_tickettasks'          => 'TicketTask',
            'glpi_documents_items'      => 'Document_Item',
            'glpi_itils_projects'       => 'Itil_Project',
            'glpi_projecttasks_tickets' => 'ProjectTask_Ticket',
            'glpi_users'                => 'User',
            'glpi_entities'             => 'Entity',
            'glpi_groups'               => 'Group',
            'glpi_projects'             => 'Project',
            'glpi_itilcategories'       => 'ITILCategory',
            'glpi_locations'            => 'Location',
        ];
        public string $dbdefault = 'glpi';
        /** @var array<string, array<int, array<string, mixed>>> */
        public array $tables = [];
        /** @var list<string> */
        public array $queries = [];
        public int $now = 1795265199;
        public bool $is_locked_elsewhere = false;
        public bool $is_broken = false;
        public bool $is_unreadable = false;
        /** called when a ticket is locked, to simulate a faster request */
        public ?Closure $meanwhile = null;

        public function quote(string $text): string
        {
            return "'$text'";
        }

        public function doQuery(string $query): void
        {
            $this->queries[] = $query;
            if (str_contains($query, 'GET_LOCK') && $this->meanwhile !== null) {
                ($this->meanwhile)();
                $this->meanwhile = null;
            }
            if (preg_match('/^(CREATE|DROP) TABLE (?:IF (?:NOT )?EXISTS) `(\w+)`/', $query, $found)) {
                if ($found[1] === 'CREATE') {
                    $this->tables[$found[2]] ??= [];
                } else {
                    unset($this->tables[$found[2]]);
                }
            }
        }

        public function tableExists(string $table): bool
        {
            return isset($this->tables[$table]);
        }

        public function getLock(string $name): bool
        {
            return !$this->is_locked_elsewhere;
        }

        public function releaseLock(string $name): void
        {
        }

        public static function table(string $name): string
        {
            return self::TABLES[$name] ?? $name;
        }

        /** @param array<string, mixed> $values */
        public function insert(string $table, array $values): void
        {
            $table = self::table($table);
            if ($this->is_broken) {
                throw new RuntimeException('the table is full');
            }
            $id = $values['id'] ?? 1 + max([0, ...array_keys($this->tables[$table] ?? [])]);
            $this->tables[$table][$id] = ['id' => $id] + $values + [
                'is_parked'   => 0,
                'attempts'    => 0,
                'next_try'    => 0,
                'answer'      => null,
                'occurred_at' => sprintf('%d.%06d', $this->now, $id),
            ];
        }

        /**
         * @param array<string, mixed> $values
         * @param array<string, mixed> $where
         */
        public function update(string $table, array $values, array $where): void
        {
            $table = self::table($table);
            foreach ($this->request(['FROM' => $table, 'WHERE' => $where]) as $row) {
                $this->tables[$table][$row['id']] = $values + $row;
            }
        }

        /** @param array<string, mixed> $where */
        public function delete(string $table, array $where): void
        {
            $table = self::table($table);
            foreach ($this->request(['FROM' => $table, 'WHERE' => $where]) as $row) {
                unset($this->tables[$table][$row['id']]);
            }
        }

        /** @param array<string, mixed> $criteria */
        public function request(array $criteria): ArrayIterator
        {
            $rows = array_filter(
                $this->tables[self::table($criteria['FROM'])] ?? [],
                static function (array $row) use ($criteria): bool {
                    foreach ($criteria['WHERE'] ?? [] as $name => $value) {
                        $name = is_string($name) ? preg_replace('/^\w+\./', '', $name) : null;
                        $fits = match (true) {
                            $name === null                          => true,
                            is_array($value) && $value[0] === '>=' => $row[$name] >= $value[1],
                            is_array($value) && $value[0] === '&'  => ($row[$name] & $value[1]) !== 0,
                            default                                 => in_array($row[$name], (array) $value),
                        };
                        if (!$fits) {
                            return false;
                        }
                    }
                    return true;
                }
            );
            foreach (array_reverse((array) ($criteria['ORDER'] ?? [])) as $order) {
                [$name, $way] = explode(' ', preg_replace('/^\w+\./', '', $order) . ' ASC');
                usort($rows, static fn (array $a, array $b): int => ($way === 'ASC' ? 1 : -1) * ($a[$name] <=> $b[$name]));
            }
            if ($criteria['DISTINCT'] ?? false) {
                $rows = array_column($rows, null, $criteria['SELECT']);
            }
            return new ArrayIterator(array_slice($rows, 0, $criteria['LIMIT'] ?? null));
        }
    }

    final class GLPIKey
    {
        public function decrypt(string $secret): string
        {
            return $secret === '' ? '' : (string) base64_decode(substr($secret, strlen('encrypted:')));
        }
    }

    final class Config
    {
        /** @var array<string, string> */
        public static array $values = [];

        /** @return array<string, string> */
        public static function getConfigurationValues(string $context): array
        {
            return self::$values;
        }

        /** @param array<string, string> $values */
        public static function setConfigurationValues(string $context, array $values): void
        {
            foreach ($values as $name => $value) {
                $is_secret = in_array($name, GlpiPlugin\Deskbridge\Settings::SECRETS, true);
                self::$values[$name] = $is_secret ? 'encrypted:' . base64_encode($value) : $value;
            }
        }

        /** @param list<string> $names */
        public static function deleteConfigurationValues(string $context, array $names): void
        {
            self::$values = array_diff_key(self::$values, array_flip($names));
        }
    }

    final class Plugin
    {
        /** @var array<string, list<string>> the types of items on which each class has a tab */
        public static array $tabs = [];

        public static function doHook(string $hook, CommonDBTM $item): void
        {
            global $PLUGIN_HOOKS;
            $listener = $PLUGIN_HOOKS[$hook]['deskbridge'][$item::class] ?? null;
            if ($listener !== null) {
                $listener($item);
            }
        }

        /** @param array<string, list<string>> $options */
        public static function registerClass(string $class, array $options): void
        {
            self::$tabs[$class] = $options['addtabon'];
        }
    }

    final class Migration
    {
        public function __construct(string $version)
        {
        }

        public function addField(string $table, string $field, string $type): void
        {
            global $DB;
            $default = str_starts_with($type, 'int') ? 0 : '';
            foreach ($DB->tables[$table] as $id => $row) {
                $DB->tables[$table][$id] = $row + [$field => $default];
            }
        }

        public function migrationOneTable(string $table): void
        {
        }
    }

    class CommonGLPI
    {
        /** @var array<string, mixed> */
        public array $fields = [];

        final public function __construct(int $id = 0)
        {
            $this->fields = ['id' => $id];
        }

        public function getID(): int
        {
            return $this->fields['id'];
        }

        public static function createTabEntry(string $text, int $count, string $type, string $icon): string
        {
            return $text;
        }
    }

    class CommonDBTM extends CommonGLPI
    {
        /** @var list<string> */
        public array $updates = [];
        public mixed $input = [];

        public static function getTable(): string
        {
            return static::class;
        }

        public function getFromDB(int $id): bool
        {
            global $DB;
            $this->fields = $DB->tables[static::class][$id] ?? [];
            return $this->fields !== [];
        }

        /** @param array<string, mixed> $fields */
        public function add(array $fields): void
        {
            global $DB;
            $fields['id'] ??= 1 + max([0, ...array_keys($DB->tables[static::class] ?? [])]);
            $this->fields = $DB->tables[static::class][$fields['id']] = $fields;
            Plugin::doHook('item_add', $this);
        }

        /** Remove the links of documents first, then the row, and run the hooks before and after. */
        public function purge(): void
        {
            global $DB;
            $this->input = ['_purge' => 1];
            Plugin::doHook('pre_item_purge', $this);
            if (!is_array($this->input)) {
                return; // a plugin has cancelled it
            }
            $this->cleanDBonPurge();
            foreach (Document_Item::all(['itemtype' => static::class, 'items_id' => $this->fields['id']]) as $link) {
                $link->purge();
            }
            unset($DB->tables[static::class][$this->fields['id']]);
            $this->post_deleteFromDB();
            Plugin::doHook('item_purge', $this);
        }

        protected function cleanDBonPurge(): void
        {
        }

        protected function post_deleteFromDB(): void
        {
        }

        /**
         * Put the item into the bin; the fields in memory do not change.
         *
         * @param array<string, mixed> $input
         */
        public function bin(array $input = []): void
        {
            global $DB;
            $this->input = $input;
            $DB->tables[static::class][$this->fields['id']]['is_deleted'] = 1;
            $DB->insert('glpi_logs', [
                'itemtype'      => static::class,
                'items_id'      => $this->fields['id'],
                'linked_action' => Log::HISTORY_DELETE_ITEM,
                'date_mod'      => date('Y-m-d H:i:s', $DB->now),
            ]);
            Plugin::doHook('item_delete', $this);
        }

        /** Restore the item from the bin; the fields in memory do not change. */
        public function restore(): void
        {
            global $DB;
            $DB->tables[static::class][$this->fields['id']]['is_deleted'] = 0;
            Plugin::doHook('item_restore', $this);
        }

        /**
         * @param array<string, mixed> $where
         * @return list<static>
         */
        public static function all(array $where): array
        {
            global $DB;
            $found = [];
            foreach ($DB->request(['FROM' => static::class, 'WHERE' => $where, 'ORDER' => 'id']) as $row) {
                $item = new static();
                $item->fields = $row;
                $found[] = $item;
            }
            return $found;
        }
    }

    final class Ticket extends CommonDBTM
    {
        public bool $is_visible = true;

        /** @return list<array<string, int>> */
        public function getUsers(int $role): array
        {
            $linked = Ticket_User::all(['tickets_id' => $this->fields['id'], 'type' => $role]);
            return array_merge($this->fields['_users'][$role] ?? [], array_column($linked, 'fields'));
        }

        /** @return list<array<string, int>> */
        public function getGroups(int $role): array
        {
            return array_column(Group_Ticket::all(['tickets_id' => $this->fields['id'], 'type' => $role]), 'fields');
        }

        public function canViewItem(): bool
        {
            return $this->is_visible;
        }

        /** Purge the tasks first, then links to projects, follow-ups, solutions and actors; the ticket follows. */
        protected function cleanDBonPurge(): void
        {
            $of_ticket = ['tickets_id' => $this->fields['id']];
            $as_item = ['itemtype' => self::class, 'items_id' => $this->fields['id']];
            foreach (
                [
                    ...TicketTask::all($of_ticket),
                    ...ProjectTask_Ticket::all($of_ticket),
                    ...Itil_Project::all($as_item),
                    ...ITILFollowup::all($as_item),
                    ...ITILSolution::all($as_item),
                    ...Ticket_User::all($of_ticket),
                ] as $item
            ) {
                $item->purge();
            }
        }

        /** Clone the ticket, then add its people and groups one by one. Tasks and projects are not cloned. */
        public function copy(): void
        {
            $copy = new self();
            $copy->add(['id' => null, 'name' => $this->fields['name'] . ' (copy)', '_users' => []] + $this->fields);
            foreach ([Ticket_User::class, Group_Ticket::class] as $type) {
                foreach ($type::all(['tickets_id' => $this->fields['id']]) as $link) {
                    (new $type())->add(['id' => null, 'tickets_id' => $copy->fields['id']] + $link->fields);
                }
            }
        }

        /**
         * Add a follow-up that names the other ticket, copy its tasks, and put the other ticket into the bin.
         *
         * The copies get new ids and name their source ticket; everything else is from their originals.
         */
        public function merge(int $other, bool $with_tasks = true): void
        {
            global $DB;
            $DB->insert('glpi_itilfollowups', [
                'itemtype'       => self::class,
                'items_id'       => $this->fields['id'],
                'sourceitems_id' => $other,
            ]);
            foreach ($with_tasks ? TicketTask::all(['tickets_id' => $other]) : [] as $task) {
                $copy = ['id' => null, 'tickets_id' => $this->fields['id'], 'sourceitems_id' => $other];
                (new TicketTask())->add($copy + $task->fields);
            }
            $merged = new self();
            $merged->getFromDB($other);
            $merged->bin(['id' => $other, '_disablenotif' => true]);
        }
    }

    final class TicketTask extends CommonDBTM
    {
        public function canViewItem(): bool
        {
            return !$this->fields['is_private'];
        }
    }

    final class ITILFollowup extends CommonDBTM
    {
        public function canViewItem(): bool
        {
            return !$this->fields['is_private'];
        }
    }

    final class ITILSolution extends CommonDBTM
    {
        public function canViewItem(): bool
        {
            return true;
        }
    }

    final class Document extends CommonDBTM
    {
        protected function cleanDBonPurge(): void
        {
            foreach (Document_Item::all(['documents_id' => $this->fields['id']]) as $link) {
                $link->purge();
            }
        }

        /** GLPI checks only whether the reader may read the document's entity. */
        public function canViewItem(): bool
        {
            return true;
        }

        /**
         * Whether the reader may view an item of the ticket that the document is linked to.
         *
         * @param array{itemtype: string, items_id: int} $options
         */
        public function canViewFile(array $options): bool
        {
            foreach (Document_Item::all(['documents_id' => $this->fields['id']]) as $link) {
                $holder = new $link->fields['itemtype']();
                $is_there = $holder->getFromDB($link->fields['items_id']);
                $ticket = ['Ticket' => 'id', 'TicketTask' => 'tickets_id'][$holder::class] ?? 'items_id';
                if ($is_there && $holder->fields[$ticket] === $options['items_id'] && $holder->canViewItem()) {
                    return true;
                }
            }
            return false;
        }
    }

    final class Document_Item extends CommonDBTM
    {
    }

    final class Ticket_User extends CommonDBTM
    {
        /** If no user is assigned any more, the ticket becomes new; its update hook runs before the link's hook. */
        protected function post_deleteFromDB(): void
        {
            global $DB;
            $ticket = new Ticket();
            $ticket->getFromDB($this->fields['tickets_id']);
            if ($this->fields['type'] === CommonITILActor::ASSIGN && $ticket->getUsers(CommonITILActor::ASSIGN) === []) {
                $ticket->fields['status'] = $DB->tables[Ticket::class][$ticket->fields['id']]['status'] = 1;
                $ticket->updates = ['status', 'date_mod'];
                Plugin::doHook('item_update', $ticket);
            }
        }
    }

    final class Group_Ticket extends CommonDBTM
    {
    }

    final class Itil_Project extends CommonDBTM
    {
    }

    final class ProjectTask_Ticket extends CommonDBTM
    {
    }

    final class Project extends CommonDBTM
    {
    }

    final class Entity extends CommonDBTM
    {
    }

    final class Group extends CommonDBTM
    {
    }

    final class ITILCategory extends CommonDBTM
    {
    }

    final class Location extends CommonDBTM
    {
    }

    final class User extends CommonDBTM
    {
    }

    final class Log
    {
        public const HISTORY_DELETE_ITEM = 13;
    }

    final class Profile extends CommonDBTM
    {
    }

    final class ProfileRight extends CommonDBTM
    {
        /** @param list<string> $names */
        public static function addProfileRights(array $names): void
        {
            foreach (Profile::all([]) as $profile) {
                foreach ($names as $name) {
                    (new self())->add(['profiles_id' => $profile->getID(), 'name' => $name, 'rights' => 0]);
                }
            }
        }

        /** @param array<string, int> $rights */
        public static function updateProfileRights(int $profile, array $rights): void
        {
            global $DB;
            foreach ($rights as $name => $right) {
                $DB->update(self::class, ['rights' => $right], ['profiles_id' => $profile, 'name' => $name]);
            }
        }

        /** @param list<string> $names */
        public static function deleteProfileRights(array $names): void
        {
            global $DB;
            $DB->delete(self::class, ['name' => $names]);
        }
    }

    final class Session
    {
        /** @var array<string, int> */
        public static array $rights = [];

        /** @var list<string> */
        public static array $messages = [];

        public static function addMessageAfterRedirect(string $text, bool $once, int $kind): void
        {
            self::$messages[] = $text;
        }

        public static function haveRight(string $name, int $right): bool
        {
            return ((self::$rights[$name] ?? 0) & $right) !== 0;
        }
    }

    final class CommonITILActor
    {
        public const REQUESTER = 1;
        public const ASSIGN = 2;
        public const OBSERVER = 3;
    }

    final class CronTask extends CommonDBTM
    {
        public const MODE_EXTERNAL = 2;
        public const STATE_WAITING = 1;
        /** @var list<array<string, mixed>> */
        public static array $zombies = [];
        /** @var list<array<string, mixed>> */
        public static array $updated = [];
        /** @var list<string> */
        public static array $registered = [];
        public static string $comment = '';
        public int $volume = 0;

        /** @param array<string, mixed> $options */
        public static function register(string $class, string $name, int $seconds, array $options): void
        {
            self::$registered[] = $name;
        }

        /** @return list<array<string, mixed>> */
        public static function getZombieCronTasks(): array
        {
            return self::$zombies;
        }

        public function addVolume(int $volume): void
        {
            $this->volume += $volume;
        }

        public function log(string $text): void
        {
        }

        /** @param array<string, mixed> $values */
        public function update(array $values): void
        {
            self::$updated[] = $values;
            self::$comment = $values['comment'] ?? self::$comment;
        }
    }

    $DB = new Database();
    spl_autoload_register(static function (string $class): void {
        $plugin = dirname(__DIR__, 4) . '/deploy/glpi-plugin/deskbridge/src/';
        $file = $plugin . str_replace('GlpiPlugin\\Deskbridge\\', '', $class) . '.php';
        if (is_file($file)) {
            require $file;
        }
    });
    define('GLPI_DOC_DIR', __DIR__);
    define('GLPI_VERSION', getenv('GLPI_VERSION') ?: '11.0.6');
    $CFG_GLPI = ['url_base' => 'https://glpi.example.org/'];
    require dirname(__DIR__, 4) . '/deploy/glpi-plugin/deskbridge/setup.php';
    require dirname(__DIR__, 4) . '/deploy/glpi-plugin/deskbridge/hook.php';
    plugin_init_deskbridge();
}
