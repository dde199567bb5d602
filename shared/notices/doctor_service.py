"""Check results of the doctor: the database, Redis, the broker, the processes and their clocks."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

NO_EVICTION = (
    "run `CONFIG SET maxmemory-policy noeviction` in Redis, and set it in redis.conf; no restart is needed"
)
ALIVE = Plural(
    "last heartbeat {seconds:.0f} s ago (on {host}, version {version}, since {since})",
    (
        "{count} are running, the last heartbeat was {seconds:.0f} s ago (on {host}, version {version}, "
        "since {since})"
    ),
)


class ServiceFinding(Code):
    """A check result about the database, Redis, the broker, the processes or their clocks."""

    DATABASE_ANSWERS = Message("database_answers", "{kind} answers ({name})", article="KB-SERVICE-001")
    DATABASE_OF_DEFAULT = Message(
        "database_of_default",
        "DESKBRIDGE_DATABASE_URL is not set, so the default database {file} is used",
        why="if the installation has another database, load its environment file",
        article="KB-SERVICE-001",
    )
    NO_DATABASE = Message(
        "no_database",
        "{problem}",
        why="load the installation's environment file, or set DESKBRIDGE_DATABASE_URL",
        article="KB-SERVICE-001",
    )
    DATABASE_UNREACHABLE = Message(
        "database_unreachable",
        "cannot be used: {error}",
        why=(
            "check that the database is running and accepts more connections, and check "
            "DESKBRIDGE_DATABASE_URL"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_READ_ONLY = Message(
        "database_read_only",
        "{name} is set to read-only, so no event can be stored: {error}",
        why=(
            "set default_transaction_read_only to off (`SHOW default_transaction_read_only` displays it), "
            "then restart every process"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_STANDBY = Message(
        "database_standby",
        "{name} is on a read-only standby server, so no event can be stored: {error}",
        why="set DESKBRIDGE_DATABASE_URL to the primary server in every process",
        article="KB-SERVICE-001",
    )
    DATABASE_FILE_READ_ONLY = Message(
        "database_file_read_only",
        "{name} is not writable, so no event can be stored: {error}",
        why=(
            "give the account that runs the processes write access to this file and its directory; GLPI "
            "sends rejected events again"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_LOCKED = Message(
        "database_locked",
        "the journal in {name} is locked, so no event can be stored: {error}",
        why=(
            "let that session commit, or end it with `SELECT pg_terminate_backend(…)`; GLPI sends rejected events "
            "again"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_FORBIDDEN = Message(
        "database_forbidden",
        "the account of DESKBRIDGE_DATABASE_URL may not append to the journal in {name}: {error}",
        why=(
            "run `REASSIGN OWNED BY … TO …` with the tables' owner and this account, or run `deskbridge grants` for "
            "the producer's; GLPI sends rejected events again"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_FULL = Message(
        "database_full",
        "{name} has no space left: {error}",
        why="free disk space on the database server; GLPI sends rejected events again",
        article="KB-SERVICE-001",
    )
    MIGRATIONS_CURRENT = Message("migrations_current", "revision {revision}", article="KB-SERVICE-002")
    MIGRATIONS_DUE = Message("migrations_due", "{problem}", article="KB-SERVICE-002")
    REDIS_ANSWERS = Message("redis_answers", "answers", article="KB-SERVICE-003")
    REDIS_UNREACHABLE = Message(
        "redis_unreachable",
        "cannot be reached, so no worker can acquire a lock ({error})",
        why="check that Redis is running, and check DESKBRIDGE_REDIS_URL",
        article="KB-SERVICE-003",
    )
    REDIS_OF_DEFAULT = Message(
        "redis_of_default",
        "cannot be reached at the default address, because DESKBRIDGE_REDIS_URL is not set ({error})",
        why="load the installation's environment file, or set DESKBRIDGE_REDIS_URL",
        article="KB-SERVICE-003",
    )
    REDIS_WITHOUT_TLS = Message(
        "redis_without_tls",
        "does not answer in TLS, which rediss:// requires ({address})",
        why="write redis:// in DESKBRIDGE_REDIS_URL, or name the port on which Redis accepts TLS",
        article="KB-SERVICE-003",
    )
    REDIS_NOT_THERE = Message(
        "redis_not_there",
        "gave no answer in Redis' protocol (at {address}, which accepts connections)",
        why=(
            "correct host and port in DESKBRIDGE_REDIS_URL; if Redis requires TLS there, write rediss://; behind a "
            "proxy, check that Redis is running"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_REFUSES = Message(
        "redis_refuses",
        (
            "answers, but rejects the user or password of DESKBRIDGE_REDIS_URL, or this user cannot write "
            "({error})"
        ),
        why=(
            "correct the user and password in DESKBRIDGE_REDIS_URL in every process, and allow this user to "
            "write"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_FULL = Message(
        "redis_full",
        (
            "out of memory, so nothing can be sent ({error}; maxmemory {most:.0f} MiB). Of {keys} sampled "
            "keys, deskbridge uses {ours:.1f} MiB and others use {others:.1f} MiB"
        ),
        why=(
            "raise `maxmemory` (`CONFIG SET maxmemory …` and redis.conf), or give deskbridge its own Redis "
            "(DESKBRIDGE_REDIS_URL)"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_READ_ONLY = Message(
        "redis_read_only",
        "is a read-only replica, so nothing can be locked or sent ({error})",
        why=(
            "set DESKBRIDGE_REDIS_URL to the primary or the Sentinels in every process; to make this server "
            "the primary, run `REPLICAOF NO ONE`"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_CANNOT_SAVE = Message(
        "redis_cannot_save",
        "cannot save to disk, so nothing can be locked or sent ({error})",
        why="free space on Redis' disk, and check its log; Redis accepts writes again as soon as it can save",
        article="KB-SERVICE-003",
    )
    REDIS_LACKS_REPLICAS = Message(
        "redis_lacks_replicas",
        "has fewer replicas than required, so nothing can be locked or sent ({error})",
        why="start Redis' replicas, or lower `min-replicas-to-write`",
        article="KB-SERVICE-003",
    )
    REDIS_LOADING = Message(
        "redis_loading",
        "is still loading its data after a restart, so nothing is sent yet ({error})",
        why="wait; if it takes long, check Redis' log",
        article="KB-SERVICE-003",
    )
    REDIS_CROWDED = Message(
        "redis_crowded",
        "has no free connections, so nothing can be locked or sent ({error})",
        why="raise `maxclients`, or close the clients that use so many connections (`CLIENT LIST`)",
        article="KB-SERVICE-003",
    )
    REDIS_NOT_WRITABLE = Message(
        "redis_not_writable",
        "answers, but rejects writes, so nothing can be locked or sent ({error})",
        why="fix what Redis reports, or check DESKBRIDGE_REDIS_URL",
        article="KB-SERVICE-003",
    )
    SIGNS_EVICTED = Message(
        "signs_evicted",
        (
            "Redis has evicted {count} keys since it started (maxmemory-policy is {policy}). Locks and "
            "heartbeats can get lost, so the state of workers is unknown"
        ),
        why=NO_EVICTION,
        article="KB-SERVICE-003",
    )
    REDIS_MAY_EVICT = Message(
        "redis_may_evict",
        "maxmemory-policy is {policy}, so Redis can evict locks",
        why=NO_EVICTION,
        article="KB-SERVICE-003",
    )
    REDIS_KEEPS_NOTHING = Message(
        "redis_keeps_nothing",
        "appendonly is no, so a restart of Redis loses the queue and what shows that a database was restored",
        why=(
            "run `CONFIG SET appendonly yes` in Redis, then set `appendonly yes` in redis.conf; no restart is needed"
        ),
        article="KB-SERVICE-003",
    )
    VERSIONS_EQUAL = Message(
        "versions_equal", "all live processes have version {version}", article="KB-SERVICE-002"
    )
    VERSIONS_DIFFER = Message(
        "versions_differ",
        Plural(
            "{count} live process has another version than {version}: {processes}",
            "{count} live processes have another version than {version}: {processes}",
        ),
        why="restart them with the new version; change no settings, mappings or templates before",
        article="KB-SERVICE-002",
    )
    ALONE_IN_REDIS = Message(
        "alone_in_redis", "{installation}, the only one in its Redis database", article="KB-SERVICE-003"
    )
    OTHERS_IN_REDIS = Message(
        "others_in_redis",
        Plural(
            (
                "another deskbridge uses this Redis database: {others}. This one is {installation}, and their "
                "keys do not conflict"
            ),
            (
                "{count} other installations use this Redis database: {others}. This one is {installation}, and "
                "their keys do not conflict"
            ),
        ),
        why=(
            "give each installation its own Redis database (the number at the end of DESKBRIDGE_REDIS_URL), "
            "so that none fills another's memory"
        ),
        article="KB-SERVICE-003",
    )
    BROKER_ANSWERS = Message("broker_answers", "answers", article="KB-SERVICE-004")
    BROKER_UNREACHABLE = Message(
        "broker_unreachable",
        "cannot be reached, so workers start events only at the next sweep",
        why="check that the broker is running, and check DESKBRIDGE_BROKER_URL",
        article="KB-SERVICE-004",
    )
    WORKER_ALIVE = Message("worker_alive", ALIVE, article="KB-SERVICE-005")
    NO_WORKER = Message(
        "no_worker",
        "no heartbeat[ for {seconds:.0f} s], so no events are sent",
        why="start `deskbridge worker`",
        article="KB-SERVICE-005",
    )
    WORKER_OF_ANOTHER_DATABASE = Message(
        "worker_of_another_database",
        (
            "no worker uses this database (installation {mine}), and the worker on {host} (process {pid}) uses "
            "another one (installation {installation}), so no events are sent"
        ),
        why=(
            "if that worker belongs here, set its DESKBRIDGE_DATABASE_URL as in the other processes, and restart it; "
            "else start `deskbridge worker` with the environment of this installation"
        ),
        article="KB-SERVICE-005",
    )
    WORKER_CANNOT_OPEN_KEY = Message(
        "worker_cannot_open_key",
        (
            "a worker on {host} (process {pid}) cannot decrypt the stored API key with its "
            "DESKBRIDGE_SECRET_KEYS, so it processes no tickets"
        ),
        why="restart it with the same DESKBRIDGE_SECRET_KEYS as the other processes",
        article="KB-SERVICE-005",
    )
    PROCESS_RESTARTS = Message(
        "process_restarts",
        "{count} processes ended within the last two minutes, soon after their start (on {hosts})",
        why="read the end of their log and of their supervisor's, and check their memory limit",
        article="KB-SERVICE-005",
    )
    BEAT_ALIVE = Message("beat_alive", ALIVE, article="KB-SERVICE-006")
    NO_BEAT = Message(
        "no_beat",
        ("no heartbeat[ for {seconds:.0f} s], so workers run the periodic jobs themselves, a third as often"),
        why="start `deskbridge beat` (it also needs DESKBRIDGE_REDIS_URL)",
        article="KB-SERVICE-006",
    )
    PRODUCER_ALIVE = Message("producer_alive", ALIVE, article="KB-SERVICE-008")
    NO_PRODUCER = Message(
        "no_producer",
        "no heartbeat[ for {seconds:.0f} s], so no events are received",
        why=(
            "start `deskbridge producer`; if it is running, check its log and run what `deskbridge grants` "
            "prints"
        ),
        article="KB-SERVICE-008",
    )
    CONSOLE_ALIVE = Message("console_alive", ALIVE, article="KB-SERVICE-009")
    NO_CONSOLE = Message(
        "no_console",
        "no heartbeat for {seconds:.0f} s, so its pages and API do not respond",
        why="start `deskbridge console` (it also needs DESKBRIDGE_REDIS_URL)",
        article="KB-SERVICE-009",
    )
    CONSOLE_NOT_USED = Message(
        "console_not_used", "not used: no heartbeat within a week", article="KB-SERVICE-009"
    )
    NOBODY_NOTIFIED = Message(
        "nobody_notified", "no one is notified: no address is stored", article="KB-SERVICE-012"
    )
    NOTIFICATIONS_WORK = Message(
        "notifications_work",
        Plural("{count} address, by {services}", "{count} addresses, by {services}"),
        article="KB-SERVICE-012",
    )
    NOTIFICATIONS_NOT_INSTALLED = Message(
        "notifications_not_installed",
        "addresses are stored, but {package} is not installed for this process, so it cannot send",
        why="add the extra {extra} to the lock file and install deskbridge again",
        article="KB-SERVICE-012",
    )
    NOTIFICATION_NOT_TAKEN = Message(
        "notification_not_taken",
        "the last sending failed at {at}: {problem}",
        why="run `deskbridge notification test`, and correct the addresses with `deskbridge notification set`",
        article="KB-SERVICE-012",
    )
    CLOCKS_AGREE = Message("clocks_agree", "within {seconds:g} s of {machines}", article="KB-SERVICE-007")
    CLOCKS_DIFFER = Message(
        "clocks_differ",
        "the clocks of this machine and of {machine} differ by {seconds:.0f} s",
        why="synchronise the clocks of all machines (NTP)",
        article="KB-SERVICE-007",
    )
    WORKER_CLOCK_AHEAD = Message(
        "worker_clock_ahead",
        "the clock of {host}, which runs a worker, is {seconds:.0f} s ahead of the database's clock",
        why="set the clock of {host} with NTP; no restart is needed",
        article="KB-SERVICE-007",
    )
    WORKER_CLOCK_BEHIND = Message(
        "worker_clock_behind",
        "the clock of {host}, which runs a worker, is {seconds:.0f} s behind the database's clock",
        why="set the clock of {host} with NTP; no restart is needed",
        article="KB-SERVICE-007",
    )
    EVENTS_DATED_AHEAD = Message(
        "events_dated_ahead",
        Plural(
            (
                "{count} event of the last 24 hours was dated more than five minutes ahead, {minutes:.0f} min "
                "ago; the time at which it arrived counts"
            ),
            (
                "{count} events of the last 24 hours were dated more than five minutes ahead, the newest "
                "{minutes:.0f} min ago; the times at which they arrived count"
            ),
        ),
        why="set the clock of GLPI's server with NTP",
        article="KB-SERVICE-007",
    )
    CALLS_SLOW = Message(
        "calls_slow",
        "calls to Redmine took {seconds:.1f} s on average in the last two minutes; the timeout is 5 s",
        why="check the CPU, memory and database of the Redmine server",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_USABLE = Message(
        "tracker_not_usable",
        "{problem}",
        why="check that Redmine is running, and check `deskbridge config show`",
        article="KB-TRACKER-001",
    )
    CALLS_AT_ONCE = Message(
        "calls_at_once",
        "a worker on {host} (process {pid}) makes {count} calls at once: {because}",
        article="KB-TRACKER-008",
    )
    NO_CALLS_LATELY = Message(
        "no_calls_lately", "no running worker has called Redmine lately", article="KB-TRACKER-008"
    )
    NO_RATE_LIMIT = Message("no_rate_limit", "no limit is set", article="KB-TRACKER-008")
    RATE_LIMIT_KEPT = Message(
        "rate_limit_kept", "{rate:g} calls a second over all workers", article="KB-TRACKER-008"
    )
    RATE_LIMIT_LOW = Message(
        "rate_limit_low",
        (
            "RATE_LIMIT allows {rate:g} calls per second, or {hourly:.0f} per hour[; the next call has to "
            "wait {seconds:.0f} s]"
        ),
        why=(
            "set DESKBRIDGE_RATE_LIMIT to 1 or more, or to 0 for no limit, in every process; then restart "
            "the workers"
        ),
        article="KB-TRACKER-008",
    )
    NOT_LOOKED_AT = Message(
        "not_looked_at",
        "not checked: a prerequisite is missing",
        why="fix the failures, then run `deskbridge doctor` again",
    )
    CHECK_FAILED = Message(
        "check_failed",
        "not checked: {error}",
        why="fix the failures, then run `deskbridge doctor` again",
        article="KB-SERVICE-001",
    )
    NOT_REACHED_IN_TIME = Message(
        "not_reached_in_time",
        "not checked: Redmine's answers took longer than {seconds:g} s in total",
        why="run `deskbridge doctor --all`, which has no time limit",
        article="KB-TRACKER-001",
    )
