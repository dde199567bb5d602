"""What the doctor's checks say: the database, Redis, the broker, the processes or their clocks."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

NO_EVICTION = (
    "`CONFIG SET maxmemory-policy noeviction` in Redis, and in redis.conf; nothing has to be restarted"
)
ALIVE = Plural(
    "alive {seconds:.0f} s ago (on {host}, version {version}, since {since})",
    "{count} are alive, the last seen {seconds:.0f} s ago (on {host}, version {version}, since {since})",
)


class ServiceFinding(Code):
    """What a check of the database, Redis, the broker, the processes or their clocks has found."""

    DATABASE_ANSWERS = Message("database_answers", "{kind} answers ({name})", article="KB-SERVICE-001")
    DATABASE_OF_DEFAULT = Message(
        "database_of_default",
        "DESKBRIDGE_DATABASE_URL is not set: this is the database of the default, {file}",
        why="load the environment of the installation, if it has another database",
        article="KB-SERVICE-001",
    )
    NO_DATABASE = Message(
        "no_database",
        "{problem}",
        why="load the environment of the installation, or set DESKBRIDGE_DATABASE_URL",
        article="KB-SERVICE-001",
    )
    DATABASE_UNREACHABLE = Message(
        "database_unreachable",
        "cannot be used: {error}",
        why="check that it runs and has connections to spare, and DESKBRIDGE_DATABASE_URL",
        article="KB-SERVICE-001",
    )
    DATABASE_READ_ONLY = Message(
        "database_read_only",
        "{name} was set to read only, so that no event is kept: {error}",
        why="set default_transaction_read_only to off on the database, its role or the server (`SHOW "
        "default_transaction_read_only`), then restart every process",
        article="KB-SERVICE-001",
    )
    DATABASE_STANDBY = Message(
        "database_standby",
        "{name} is on a standby, which takes no writes, so that no event is kept: {error}",
        why="set DESKBRIDGE_DATABASE_URL to the server that takes writes, in every process",
        article="KB-SERVICE-001",
    )
    DATABASE_FILE_READ_ONLY = Message(
        "database_file_read_only",
        "{name} cannot be written, so that no event is kept: {error}",
        why=(
            "let the account that runs the processes write this file and its directory; the helpdesk sends "
            "again what it was refused"
        ),
        article="KB-SERVICE-001",
    )
    DATABASE_FULL = Message(
        "database_full",
        "{name} keeps nothing more: {error}",
        why="make room on the disk of its server; the helpdesk sends again what it was refused",
        article="KB-SERVICE-001",
    )
    MIGRATIONS_CURRENT = Message("migrations_current", "revision {revision}", article="KB-SERVICE-002")
    MIGRATIONS_DUE = Message(
        "migrations_due", "{problem}", why="run `deskbridge migrate`", article="KB-SERVICE-002"
    )
    REDIS_ANSWERS = Message("redis_answers", "answers", article="KB-SERVICE-003")
    REDIS_UNREACHABLE = Message(
        "redis_unreachable",
        "cannot be reached ({error}): no worker can acquire a lock",
        why="check that it runs, and DESKBRIDGE_REDIS_URL",
        article="KB-SERVICE-003",
    )
    REDIS_REFUSES = Message(
        "redis_refuses",
        "answers, but refuses the user or password of DESKBRIDGE_REDIS_URL, or the user may not write ({error})",
        why=(
            "set DESKBRIDGE_REDIS_URL with the right user and password in every process; the user must be "
            "allowed to write"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_FULL = Message(
        "redis_full",
        "its memory is full ({error}; maxmemory {most:.0f} MiB): nothing can be locked, so nothing is sent; of {keys} "
        "keys looked at, deskbridge's take {ours:.1f} MiB and others' {others:.1f} MiB",
        why=(
            "raise `maxmemory` of Redis (`CONFIG SET maxmemory …` and redis.conf), or give deskbridge a Redis "
            "of its own (DESKBRIDGE_REDIS_URL)"
        ),
        article="KB-SERVICE-003",
    )
    REDIS_READ_ONLY = Message(
        "redis_read_only",
        "is a replica ({error}): nothing can be locked, so nothing is sent",
        why="set DESKBRIDGE_REDIS_URL to the server that takes writes (or to the Sentinels) in every process; "
        "if this one is to take them, `REPLICAOF NO ONE`",
        article="KB-SERVICE-003",
    )
    REDIS_CANNOT_SAVE = Message(
        "redis_cannot_save",
        "cannot save to its disk ({error}): nothing can be locked, so nothing is sent",
        why="make room on the disk of Redis, and check its log; it takes writes once it can save",
        article="KB-SERVICE-003",
    )
    REDIS_LACKS_REPLICAS = Message(
        "redis_lacks_replicas",
        "has fewer replicas than it must have ({error}): nothing can be locked, so nothing is sent",
        why="start the replicas of Redis, or lower its `min-replicas-to-write`",
        article="KB-SERVICE-003",
    )
    REDIS_LOADING = Message(
        "redis_loading",
        "has been started and still loads what it saved ({error}): nothing is sent until then",
        why="wait; if it takes long, look at the log of Redis",
        article="KB-SERVICE-003",
    )
    REDIS_CROWDED = Message(
        "redis_crowded",
        "takes no further connection ({error}): nothing can be locked, so nothing is sent",
        why="raise `maxclients` of Redis, or end what holds so many connections (`CLIENT LIST`)",
        article="KB-SERVICE-003",
    )
    REDIS_NOT_WRITABLE = Message(
        "redis_not_writable",
        "answers, but takes nothing ({error}): nothing can be locked, so nothing is sent",
        why="correct what Redis says, or check DESKBRIDGE_REDIS_URL",
        article="KB-SERVICE-003",
    )
    SIGNS_EVICTED = Message(
        "signs_evicted",
        "Redis evicts keys ({count} since it was started; maxmemory-policy is {policy}): locks and signs of life may "
        "be lost, so nobody can tell whether a worker runs",
        why=NO_EVICTION,
        article="KB-SERVICE-003",
    )
    REDIS_MAY_EVICT = Message(
        "redis_may_evict",
        "maxmemory-policy is {policy}: locks may be evicted",
        why=NO_EVICTION,
        article="KB-SERVICE-003",
    )
    ALONE_IN_REDIS = Message(
        "alone_in_redis", "{installation}, the only one in its Redis database", article="KB-SERVICE-003"
    )
    OTHERS_IN_REDIS = Message(
        "others_in_redis",
        Plural(
            (
                "another deskbridge uses the same Redis database: {others}; this one is {installation}, and "
                "neither takes the other's keys"
            ),
            (
                "{count} others use the same Redis database: {others}; this one is {installation}, and none takes "
                "another's keys"
            ),
        ),
        why=(
            "give each a Redis database of its own (DESKBRIDGE_REDIS_URL ends with its number), so that "
            "neither fills the other's memory"
        ),
        article="KB-SERVICE-003",
    )
    BROKER_ANSWERS = Message("broker_answers", "answers", article="KB-SERVICE-004")
    BROKER_UNREACHABLE = Message(
        "broker_unreachable",
        "cannot be used: no event is processed",
        why="check that it runs, and DESKBRIDGE_BROKER_URL",
        article="KB-SERVICE-004",
    )
    WORKER_ALIVE = Message("worker_alive", ALIVE, article="KB-SERVICE-005")
    NO_WORKER = Message(
        "no_worker",
        "no sign of life[ for {seconds:.0f} s]: nothing is sent",
        why="start `deskbridge worker`",
        article="KB-SERVICE-005",
    )
    WORKER_CANNOT_OPEN_KEY = Message(
        "worker_cannot_open_key",
        "a worker on {host} (process {pid}) cannot open the stored API key with its DESKBRIDGE_SECRET_KEYS, and takes "
        "no tickets",
        why="restart it with the DESKBRIDGE_SECRET_KEYS of the others and of this command",
        article="KB-SERVICE-005",
    )
    BEAT_ALIVE = Message("beat_alive", ALIVE, article="KB-SERVICE-006")
    NO_BEAT = Message(
        "no_beat",
        "no heartbeat[ for {seconds:.0f} s]: workers do its work themselves, but three times as rarely",
        why="start `deskbridge beat` (it needs DESKBRIDGE_REDIS_URL, too)",
        article="KB-SERVICE-006",
    )
    PRODUCER_ALIVE = Message("producer_alive", ALIVE, article="KB-SERVICE-008")
    NO_PRODUCER = Message(
        "no_producer",
        "no sign of life[ for {seconds:.0f} s]: no event is taken in",
        why="start `deskbridge producer`; where it runs, look at its log, and run what `deskbridge grants` prints",
        article="KB-SERVICE-008",
    )
    CONSOLE_ALIVE = Message("console_alive", ALIVE, article="KB-SERVICE-009")
    NO_CONSOLE = Message(
        "no_console",
        "no sign of life for {seconds:.0f} s: its pages and API do not answer",
        why="start `deskbridge console` (it needs DESKBRIDGE_REDIS_URL, too)",
        article="KB-SERVICE-009",
    )
    CONSOLE_NOT_USED = Message(
        "console_not_used", "not used: none was seen within a week", article="KB-SERVICE-009"
    )
    CLOCKS_AGREE = Message("clocks_agree", "within {seconds:g} s of {machines}", article="KB-SERVICE-007")
    CLOCKS_DIFFER = Message(
        "clocks_differ",
        "the clocks of this machine and {machine} differ by {seconds:.0f} s",
        why="synchronise the clock of every machine (NTP)",
        article="KB-SERVICE-007",
    )
    WORKER_CLOCK_AHEAD = Message(
        "worker_clock_ahead",
        "the clock of {host}, where a worker runs, is {seconds:.0f} s ahead of the database's",
        why="let NTP set the clock of {host}; nothing has to be restarted",
        article="KB-SERVICE-007",
    )
    WORKER_CLOCK_BEHIND = Message(
        "worker_clock_behind",
        "the clock of {host}, where a worker runs, is {seconds:.0f} s behind the database's",
        why="let NTP set the clock of {host}; nothing has to be restarted",
        article="KB-SERVICE-007",
    )
    CALLS_SLOW = Message(
        "calls_slow",
        "a call to the tracker took {seconds:.1f} s on average within the last two minutes; after 5 s it is given up",
        why="look for what slows the tracker down: its processors, its memory, its database",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_USABLE = Message(
        "tracker_not_usable",
        "{problem}",
        why="check that it runs, and `deskbridge config show`",
        article="KB-TRACKER-001",
    )
    CALLS_AT_ONCE = Message(
        "calls_at_once",
        "a worker on {host} (process {pid}) makes {count} at once: {because}",
        article="KB-TRACKER-008",
    )
    NO_CALLS_LATELY = Message(
        "no_calls_lately", "no worker says how many it makes at once", article="KB-TRACKER-008"
    )
    NO_RATE_LIMIT = Message("no_rate_limit", "none is set", article="KB-TRACKER-008")
    RATE_LIMIT_KEPT = Message(
        "rate_limit_kept", "{rate:g} calls a second over all workers", article="KB-TRACKER-008"
    )
    RATE_LIMIT_LOW = Message(
        "rate_limit_low",
        "RATE_LIMIT allows {rate:g} calls a second, which is {hourly:.0f} an hour"
        "[; the next call waits {seconds:.0f} s for its turn]",
        why="set DESKBRIDGE_RATE_LIMIT to 1 or more, or to 0 for no limit, in every process, and restart the workers",
        article="KB-TRACKER-008",
    )
    NOT_LOOKED_AT = Message(
        "not_looked_at",
        "not looked at: what it needs is not there",
        why="fix what fails, then run `deskbridge doctor` again",
    )
    NOT_REACHED_IN_TIME = Message(
        "not_reached_in_time",
        "not reached: the tracker's answers took longer than {seconds:g} s in all",
        why="`deskbridge doctor --all` looks at each, however long the tracker takes",
        article="KB-TRACKER-001",
    )
