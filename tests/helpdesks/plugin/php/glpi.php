<?php

/**
 * Small stand-ins of what the plugin uses of GLPI 11, over a database in memory.
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

    function isCommandLine(): bool
    {
        return true;
    }

    /** @param array<string, mixed> $where */
    function countElementsInTable(string $table, array $where): int
    {
        global $DB;
        return count($DB->request(['FROM' => $table, 'WHERE' => $where]));
    }

    final class Database
    {
        public string $dbdefault = 'glpi';
        /** @var array<string, array<int, array<string, mixed>>> */
        public array $tables = [];
        /** @var list<string> */
        public array $queries = [];
        public int $now = 1795265199;
        public bool $is_locked_elsewhere = false;
        public bool $is_broken = false;
        /** called when a ticket is locked, as if another request had been faster */
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

        /** @param array<string, mixed> $values */
        public function insert(string $table, array $values): void
        {
            if ($this->is_broken) {
                throw new RuntimeException('the table is full');
            }
            $id = 1 + max([0, ...array_keys($this->tables[$table])]);
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
            foreach ($this->request(['FROM' => $table, 'WHERE' => $where]) as $row) {
                $this->tables[$table][$row['id']] = $values + $row;
            }
        }

        /** @param array<string, mixed> $where */
        public function delete(string $table, array $where): void
        {
            foreach ($this->request(['FROM' => $table, 'WHERE' => $where]) as $row) {
                unset($this->tables[$table][$row['id']]);
            }
        }

        /** @param array<string, mixed> $criteria */
        public function request(array $criteria): ArrayIterator
        {
            $rows = array_filter(
                $this->tables[$criteria['FROM']] ?? [],
                static function (array $row) use ($criteria): bool {
                    foreach ($criteria['WHERE'] ?? [] as $name => $value) {
                        $name = is_string($name) ? preg_replace('/^\w+\./', '', $name) : null;
                        if ($name !== null && !in_array($row[$name], (array) $value)) {
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
    }

    class CommonDBTM extends CommonGLPI
    {
        /** @var list<string> */
        public array $updates = [];

        public function getFromDB(int $id): bool
        {
            global $DB;
            $this->fields = $DB->tables[static::class][$id] ?? [];
            return $this->fields !== [];
        }
    }

    final class Ticket extends CommonDBTM
    {
        /** @return list<array<string, int>> */
        public function getUsers(int $role): array
        {
            return $this->fields['_users'][$role] ?? [];
        }
    }

    final class TicketTask extends CommonDBTM
    {
    }

    final class Project extends CommonDBTM
    {
    }

    final class Entity extends CommonDBTM
    {
    }

    final class CommonITILActor
    {
        public const ASSIGN = 2;
    }

    final class UserEmail
    {
        public static function getDefaultForUser(int $id): string
        {
            return [7 => 'alice@example.org', 8 => 'bob@example.org'][$id] ?? '';
        }
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
    define('PLUGIN_DESKBRIDGE_VERSION', 'test');
}
