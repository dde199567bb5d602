"""What the doctor's findings say; `WHY`: what to do about them."""

from __future__ import annotations

from shared.codes.findings import Finding, Named
from shared.sentences.template import Plural, Table

SYNC = "run `deskbridge sync-metadata`"
MAP = "`deskbridge map-user HELPDESK_USER_ID TRACKER_USER_ID`"
NO_EVICTION = (
    "`CONFIG SET maxmemory-policy noeviction` in Redis, and in redis.conf; nothing has to be restarted"
)
SET_UP_FIRST = "set up the tracker first"
ALIVE = Plural(
    "alive {seconds:.0f} s ago (on {host}, version {version}, since {since})",
    "{count} are alive, the last seen {seconds:.0f} s ago (on {host}, version {version}, since {since})",
)

SENTENCES: Table = {
    Finding.DATABASE_ANSWERS: "{kind} answers ({name})",
    Finding.DATABASE_OF_DEFAULT: "DESKBRIDGE_DATABASE_URL is not set: this is the database of the default, {file}",
    Finding.NO_DATABASE: "{problem}",
    Finding.DATABASE_UNREACHABLE: "cannot be used: {error}",
    Finding.DATABASE_FULL: "{name} keeps nothing more: {error}",
    Finding.DATABASE_READ_ONLY: "{name} was set to read only, so that no event is kept: {error}",
    Finding.DATABASE_STANDBY: "{name} is on a standby, which takes no writes, so that no event is kept: {error}",
    Finding.DATABASE_FILE_READ_ONLY: "{name} cannot be written, so that no event is kept: {error}",
    Finding.MIGRATIONS_CURRENT: "revision {revision}",
    Finding.MIGRATIONS_DUE: "{problem}",
    Finding.REDIS_ANSWERS: "answers",
    Finding.REDIS_UNREACHABLE: "cannot be reached ({error}): no worker can acquire a lock",
    Finding.REDIS_REFUSES: (
        "answers, but refuses the user or password of DESKBRIDGE_REDIS_URL, or the user may not write ({error})"
    ),
    Finding.REDIS_FULL: (
        "its memory is full ({error}; maxmemory {most:.0f} MiB): nothing can be locked, so nothing is sent; of {keys} "
        "keys looked at, deskbridge's take {ours:.1f} MiB and others' {others:.1f} MiB"
    ),
    Finding.REDIS_READ_ONLY: "is a replica ({error}): nothing can be locked, so nothing is sent",
    Finding.REDIS_CANNOT_SAVE: "cannot save to its disk ({error}): nothing can be locked, so nothing is sent",
    Finding.REDIS_LACKS_REPLICAS: (
        "has fewer replicas than it must have ({error}): nothing can be locked, so nothing is sent"
    ),
    Finding.REDIS_LOADING: "has been started and still loads what it saved ({error}): nothing is sent until then",
    Finding.REDIS_CROWDED: "takes no further connection ({error}): nothing can be locked, so nothing is sent",
    Finding.REDIS_NOT_WRITABLE: "answers, but takes nothing ({error}): nothing can be locked, so nothing is sent",
    Finding.REDIS_MAY_EVICT: "maxmemory-policy is {policy}: locks may be evicted",
    Finding.SIGNS_EVICTED: (
        "Redis evicts keys ({count} since it was started; maxmemory-policy is {policy}): locks and signs of life may "
        "be lost, so nobody can tell whether a worker runs"
    ),
    Finding.ALONE_IN_REDIS: "{installation}, the only one in its Redis database",
    Finding.OTHERS_IN_REDIS: Plural(
        "another deskbridge uses the same Redis database: {others}; this one is {installation}, and neither takes the "
        "other's keys",
        "{count} others use the same Redis database: {others}; this one is {installation}, and none takes another's "
        "keys",
    ),
    Finding.BROKER_ANSWERS: "answers",
    Finding.BROKER_UNREACHABLE: "cannot be used: no event is processed",
    Finding.WORKER_ALIVE: ALIVE,
    Finding.NO_WORKER: "no sign of life[ for {seconds:.0f} s]: nothing is sent",
    Finding.WORKER_CANNOT_OPEN_KEY: (
        "a worker on {host} (process {pid}) cannot open the stored API key with its DESKBRIDGE_SECRET_KEYS, and takes "
        "no tickets"
    ),
    Finding.BEAT_ALIVE: ALIVE,
    Finding.NO_BEAT: (
        "no heartbeat[ for {seconds:.0f} s]: workers do its work themselves, but three times as rarely"
    ),
    Finding.PRODUCER_ALIVE: ALIVE,
    Finding.NO_PRODUCER: "no sign of life[ for {seconds:.0f} s]: no event is taken in",
    Finding.CONSOLE_ALIVE: ALIVE,
    Finding.NO_CONSOLE: "no sign of life for {seconds:.0f} s: its pages and API do not answer",
    Finding.CONSOLE_NOT_USED: "not used: none was seen within a week",
    Finding.CLOCKS_AGREE: "within {seconds:g} s of {machines}",
    Finding.CLOCKS_DIFFER: "the clocks of this machine and {machine} differ by {seconds:.0f} s",
    Finding.WORKER_CLOCK_AHEAD: "the clock of {host}, where a worker runs, is {seconds:.0f} s ahead of the database's",
    Finding.WORKER_CLOCK_BEHIND: "the clock of {host}, where a worker runs, is {seconds:.0f} s behind the database's",
    Finding.API_KEY_STORED: "stored, and encrypted with the first of DESKBRIDGE_SECRET_KEYS",
    Finding.API_KEY_MISSING: "not stored",
    Finding.API_KEY_UNREADABLE: "{problem}",
    Finding.API_KEY_OLD_ENCRYPTION: "encrypted with an older key",
    Finding.METADATA_CURRENT: "synchronised at {at}",
    Finding.METADATA_EMPTY: "no metadata of the tracker is cached, so no id can be checked",
    Finding.METADATA_OLD: "{hours:.1f} hours old[; the last synchronisation failed: {error}]",
    Finding.METADATA_NOT_READ: "the last synchronisation failed: {error}",
    Finding.LINKS_USABLE: Plural(
        "{count} link, to an active project", "{count} links, all to active projects"
    ),
    Finding.LINKS_NOT_ALL_READ: (
        "{read} of {count} linked tracker projects were looked at within {seconds:g} s, "
        "those of the newest tickets first"
    ),
    Finding.NOTHING_LINKED: "nothing is linked, so nothing is sent",
    Finding.CATEGORY_GONE: (
        "{link}: tracker project {project_id}[ ({project_name})] has no issue category {category_id}"
        "[; it has: {choices}]"
    ),
    Finding.CATEGORY_ASSIGNEE_LOCKED: (
        "{link}: issue category {category_id} ({category}) of tracker project {project_id} assigns its issues to "
        "user {user_id}[ ({user})], who is locked, so the tracker refuses each of them"
    ),
    Finding.CONFIG_ID_UNKNOWN: "{name}: {problem}",
    Finding.ISSUE_TYPE_NOT_USABLE: (
        "issue type {issue_type_id} is not switched on in tracker project {project_id}[ ({project_name})], "
        "so another one is taken[; usable: {choices}]"
    ),
    Finding.CONFIG_IDS_KNOWN: "every other id of the configuration exists on the tracker",
    Finding.ROLE_KNOWN: "technicians are given role {role_id}",
    Finding.ROLE_NOT_SET: (
        "default_role_id is empty: no memberships are created; the administrator acts for non-members"
    ),
    Finding.ACTIVITY_KNOWN: "activity {activity_id} exists",
    Finding.ACTIVITY_NOT_SET: "default_activity_id is empty: the tracker uses its own default, if it has one",
    Finding.ACTIVITY_NOT_USABLE: (
        "activity {activity_id} cannot be used in tracker project {project_id}[ ({project_name})][; usable: {choices}]"
    ),
    Finding.STATUSES_MAPPED: "{mapped} mapped; every status seen in events is",
    Finding.STATUSES_NOT_MAPPED: "helpdesk statuses that are not mapped, so never sent: {statuses}",
    Finding.STATUS_MAP_WRONG: "status_map: {problem}",
    Finding.PEOPLE_KNOWN: "helpdesk users seen in events: {total}, each known on the tracker",
    Finding.MATCHES_NEW: Plural(
        "a helpdesk user was matched by e-mail, and nobody has confirmed it: {people}",
        "{count} helpdesk users were matched by e-mail, and nobody has confirmed it: {people}",
    ),
    Finding.MATCHES_WAIT: Plural(
        "a match waits for a person: {people}", "{count} matches wait for a person: {people}"
    ),
    Finding.MEMBERSHIP_BY_EMAIL: Plural(
        "whoever gets a technician's e-mail address on the tracker becomes a member of a private project: {projects}",
        "whoever gets a technician's e-mail address on the tracker becomes a member of {count} private projects: "
        "{projects}",
    ),
    Finding.FORMATTING_KNOWN: "text_formatting is {formatting}",
    Finding.FORMATTING_NOT_SET: (
        "text_formatting is not set: Redmine may turn plain text into lists, links and mentions, which mail people"
    ),
    Finding.PEOPLE_UNKNOWN: (
        "{unknown} of {total} helpdesk users are matched with no active tracker user, by the main e-mail or by "
        "`map-user`: {people}; the administrator acts for them"
    ),
    Finding.PEOPLE_AMBIGUOUS: Plural(
        "the administrator acts for a helpdesk user whose e-mail several tracker users have: {people}",
        "the administrator acts for {count} helpdesk users whose e-mail several tracker users have: {people}",
    ),
    Finding.PEOPLE_LOCKED: Plural(
        "a helpdesk user is locked on the tracker: {people}; the administrator acts for them",
        "{count} helpdesk users are locked on the tracker: {people}; the administrator acts for them",
    ),
    Finding.PEOPLE_DELETED: Plural(
        "the tracker user of a helpdesk user was deleted: {people}; the administrator acts for them",
        "the tracker users of {count} helpdesk users were deleted: {people}; the administrator acts for them",
    ),
    Finding.TRACKER_ANSWERS: "{base_url} answers",
    Finding.TRACKER_SLOW: "{base_url} took {seconds:.1f} s for an answer; after 5 s a call is given up",
    Finding.CALLS_SLOW: (
        "a call to the tracker took {seconds:.1f} s on average within the last two minutes; after 5 s it is given up"
    ),
    Finding.TRACKER_NOT_SET_UP: "{problem}",
    Finding.NOT_A_TRACKER: (
        "what answers at {base_url} is not the tracker's API: GET /users.json answered {status}"
    ),
    Finding.TRACKER_NOT_USABLE: "{problem}",
    Finding.TRACKER_NOT_REACHED: "{problem}",
    Finding.KEY_OF_ADMINISTRATOR: "the API key is an administrator's, and the REST API is on",
    Finding.KEY_NOT_KNOWN: (
        "the tracker does not know the API key: it was changed, or its owner is locked, which are answered alike"
    ),
    Finding.KEY_NOT_ADMINISTRATOR: "the API key is {login}'s, who is no administrator of the tracker",
    Finding.REST_API_OFF: "the tracker's REST API is switched off",
    Finding.TRACKER_REFUSES: "{problem}",
    Finding.CALLS_AT_ONCE: "a worker on {host} (process {pid}) makes {count} at once: {because}",
    Finding.NO_CALLS_LATELY: "no worker says how many it makes at once",
    Finding.NO_RATE_LIMIT: "none is set",
    Finding.RATE_LIMIT_KEPT: "{rate:g} calls a second over all workers",
    Finding.RATE_LIMIT_LOW: (
        "RATE_LIMIT allows {rate:g} calls a second, which is {hourly:.0f} an hour"
        "[; the next call waits {seconds:.0f} s for its turn]"
    ),
    Finding.IMPERSONATION_WORKS: "the tracker respects {header}",
    Finding.IMPERSONATION_IGNORED: "the tracker ignores {header}: everything would be attributed to the administrator",
    Finding.IMPERSONATION_UNEXPECTED: "the tracker answered {status} to {header}",
    Finding.IMPERSONATION_UNKNOWN: "{problem}",
    Finding.MODULES_ENABLED: Plural(
        "{count} linked tracker project has what is needed",
        "all {count} linked tracker projects have what is needed",
    ),
    Finding.MODULES_MISSING: "tracker project {project_id}[ ({project_name})] lacks {modules}",
    Finding.NOT_LOOKED_AT: "not looked at: what it needs is not there",
    Finding.NOT_REACHED_IN_TIME: "not reached: the tracker's answers took longer than {seconds:g} s in all",
    Finding.LINKED_PROJECT_CLOSED: "tracker project {project_id}[ ({project_name})] ({link}) is closed",
    Finding.LINKED_PROJECT_ARCHIVED: "tracker project {project_id}[ ({project_name})] ({link}) is archived",
    Finding.LINKED_PROJECT_GONE: (
        "tracker project {project_id}[ ({project_name})] ({link}) does not exist: it was deleted"
    ),
    Finding.TEMPLATES_RENDER: "in force: {templates}",
    Finding.TEMPLATES_NOT_USED: "none in force: the standard bodies are sent",
    Finding.TEMPLATE_NOT_RENDERED: (
        "template {id} ({name}), version {version}, for {operation} cannot be rendered, so the standard body is sent: "
        "{problem}"
    ),
    Finding.TEMPLATE_OUT_OF_DATE: (
        "template {id} ({name}), version {version}, for {operation} names what the tracker does not have: "
        "{field}: {problem}"
    ),
    Finding.CUSTOM_FIELDS_SENT: "all required ones are sent, or have a default value",
    Finding.CUSTOM_FIELDS_NOT_SENT: "{operation} lacks required custom fields: {fields}",
    Finding.DRY_RUNS_CLEANED: "nothing is left on the tracker",
    Finding.DRY_RUNS_LEFT: "{count} left on the tracker: {objects}",
    Finding.NOTHING_PENDING: "no event is waiting",
    Finding.WORKER_SET_UP_OTHERWISE: Plural(
        "{count} event waits: a worker could not work some seconds ago ({because}), and this command can",
        "{count} events wait: a worker could not work some seconds ago ({because}), and this command can",
    ),
    Finding.EVERYTHING_PAUSED: "paused, {because}",
    Finding.EVENTS_PENDING: Plural(
        "{count} event is waiting, for {seconds:.0f} s[: {why}]",
        "{count} events are waiting, the oldest for {seconds:.0f} s[: {why}]",
    ),
    Finding.CREATIONS_ANSWERED: "nothing that is sent to the tracker is answered by something in its place",
    Finding.CREATIONS_NOT_PASSED_ON: Plural(
        "{count} ticket is not forwarded ({tickets}): {cause}",
        "{count} tickets are not forwarded (the newest: {tickets}): {cause}",
    ),
    Finding.NOTHING_HELD: "nothing waits for a decision",
    Finding.ROWS_HELD: Plural(
        "{count} issue or time entry waits for a decision",
        "{count} issues or time entries wait for a decision",
    ),
    Finding.HELD_FOR_NOTHING: Plural(
        "{count} event is held, and nothing of its ticket waits for a decision",
        "{count} events are held, and nothing of their tickets waits for a decision",
    ),
    Finding.NOTHING_FAILED: "no event failed",
    Finding.EVENTS_FAILED_FOR: Plural("{count} event failed: {cause}", "{count} events failed: {cause}"),
    Finding.EVENTS_FIXED: Plural(
        "{count} event failed, and its cause is fixed (it was: {cause})",
        "{count} events failed, and their cause is fixed (it was: {cause})",
    ),
    Finding.EVENTS_FAILED: Plural("{count} event failed", "{count} events failed"),
    Finding.AUTHORS_RIGHT: "everything has the author who was meant",
    Finding.AUTHORS_WRONG: Plural(
        "{count} issue or time entry has another author than was meant",
        "{count} issues or time entries have another author than was meant",
    ),
    Finding.AUTHORS_DELETED: Plural(
        "{count} issue or time entry lost its author, a tracker user who was deleted (ticket {tickets})",
        "{count} issues or time entries lost their author, a tracker user who was deleted (the newest: tickets "
        "{tickets})",
    ),
    Finding.STATUSES_GIVEN: "the tracker refused no status",
    Finding.STATUSES_NOT_GIVEN: Plural(
        "{count} issue has another status than its ticket (ticket {tickets}): {cause}",
        "{count} issues have another status than their tickets (the newest: tickets {tickets}): {cause}",
    ),
    Finding.FIELDS_TAKEN: "the tracker took every field of the issues of the last {days} days",
    Finding.FIELDS_NOT_TAKEN: Plural(
        "{count} issue of the last {days} days has other values than were sent (ticket {tickets})",
        "{count} issues of the last {days} days have other values than were sent (the newest: tickets {tickets})",
    ),
    Finding.NO_EVENT_YET: "no event has come in yet",
    Finding.LAST_EVENT: "the last event came in {minutes:.0f} min ago",
    Finding.NOTHING_REFUSED: "no delivery was refused within a day",
    Finding.DELIVERIES_REFUSED: Plural(
        "the producer on {host} refused {count} delivery since {since}[ ({after} since it accepted one)], "
        "{minutes:.0f} min ago, from {addresses}: {why}",
        "the producer on {host} refused {count} deliveries since {since}[ ({after} since it accepted one)], the last "
        "{minutes:.0f} min ago, from {addresses}: {why}",
    ),
    Finding.QUEUE_UNKNOWN: "no plugin in GLPI has said lately what it keeps",
    Finding.NOTHING_PARKED: (
        "{minutes:.0f} min ago the plugin's queue in GLPI had {waiting} more events to send, and none that was refused"
    ),
    Finding.EVENTS_PARKED: Plural(
        "the plugin's queue in GLPI keeps {count} event that was refused[, of ticket {tickets}], and had {waiting} "
        "more to send {minutes:.0f} min ago",
        "the plugin's queue in GLPI keeps {count} events that were refused[, of tickets {tickets}], and had {waiting} "
        "more to send {minutes:.0f} min ago",
    ),
    Finding.TASKS_ARE_DONE: "a ticket task counts as Done in state {done_state}",
    Finding.NO_TASK_IS_DONE: (
        "none of the last {count} ticket tasks was Done: they came in state {states}, and Done is {done_state}"
    ),
    Finding.NOTHING_UNLINKED: "no ticket of the last week was left out for want of a link",
    Finding.TICKETS_UNLINKED: Plural(
        "entity {id}[ ({name})] is not linked: {count} ticket of the last week was not forwarded ({tickets})",
        "entity {id}[ ({name})] is not linked: {count} tickets of the last week were not forwarded ({tickets})",
    ),
    Finding.LINKED_SINCE: Plural(
        "{count} ticket was not forwarded before entity {id}[ ({name})] or its project was linked ({tickets})",
        "{count} tickets were not forwarded before entity {id}[ ({name})] or their projects were linked ({tickets})",
    ),
    Finding.MORE_UNLINKED: Plural(
        "{count} more entity is not linked and had tickets",
        "{count} more entities are not linked and had tickets",
    ),
    Finding.DELIVERIES_READABLE: "all could be read",
    Finding.DELIVERIES_COMPARED: Plural(
        "{count} delivery could not be read; the helpdesk was compared with the journal since",
        "{count} deliveries could not be read; the helpdesk was compared with the journal since",
    ),
    Finding.DELIVERIES_UNREADABLE: Plural(
        "{count} delivery was accepted and cannot be read",
        "{count} deliveries were accepted and cannot be read",
    ),
    Finding.HELPDESK_API_NOT_USED: "not used: DESKBRIDGE_GLPI_API_URL is not set",
    Finding.HELPDESK_API_ANSWERS: "answers; its clock agrees within {seconds:.0f} s",
    Finding.HELPDESK_API_UNREACHABLE: "{problem}",
    Finding.HELPDESK_CLOCK_DIFFERS: "its clock and the one of this machine differ by {seconds:.0f} s",
    Finding.NOT_RECONCILED: "the helpdesk has not been compared with the journal for two days",
    Finding.EVENTS_WERE_MISSED: Plural(
        "{count} event had not come in, and was found on the helpdesk",
        "{count} events had not come in, and were found on the helpdesk",
    ),
    Finding.NOTHING_WAS_MISSED: "everything on the helpdesk has come in",
    Finding.RECOVERY_OFF: "off: creations are sent without asking the tracker first",
    Finding.RECOVERY_ON: "on since {since}: the tracker is asked before each creation",
    Named.STATUS_SEEN: Plural("{status} ({count} ticket)", "{status} ({count} tickets)"),
    Named.STATUS_SEEN_OFTEN: "{status} ({most}+ tickets)",
    Named.PERSON_MATCHED: "{helpdesk_user_id} ({email}): {login}",
    Named.PERSON_WITH_EMAIL: "{helpdesk_user_id} ({email})",
    Named.PERSON_FOUND_BY_EMAIL: "{helpdesk_user_id} ({email}; the tracker finds {candidates} by it)",
    Named.PERSON_WITHOUT_EMAIL: "{helpdesk_user_id} (no e-mail)",
    Named.TEMPLATE_IN_FORCE: "{operation} ({name})",
    Named.FIELD_REQUIRED_THERE: "{id} ({name})",
    Named.LEFT_ON_TRACKER: "{kind:word} #{tracker_id} with “{mark}” ({because})",
    Named.LEFT_WITHOUT_NUMBER: "{kind:word} whose number is not known with “{mark}” ({because})",
    Named.NOT_DELETED_YET: "not deleted yet",
    Named.OTHER_INSTALLATION: "{installation}[ (a worker on {host}, {seconds:.0f} s ago)]",
    Named.THE_DATABASE: "the database",
    Named.THE_TRACKER: "the tracker",
}

WHY: Table = {
    Finding.DATABASE_OF_DEFAULT: "load the environment of the installation, if it has another database",
    Finding.NO_DATABASE: "load the environment of the installation, or set DESKBRIDGE_DATABASE_URL",
    Finding.DATABASE_UNREACHABLE: "check that it runs and has connections to spare, and DESKBRIDGE_DATABASE_URL",
    Finding.DATABASE_FULL: "make room on the disk of its server; the helpdesk sends again what it was refused",
    Finding.DATABASE_READ_ONLY: (
        "set default_transaction_read_only to off on the database, its role or the server (`SHOW "
        "default_transaction_read_only`), then restart every process"
    ),
    Finding.DATABASE_STANDBY: "set DESKBRIDGE_DATABASE_URL to the server that takes writes, in every process",
    Finding.DATABASE_FILE_READ_ONLY: (
        "let the account that runs the processes write this file and its directory; the helpdesk sends again what it "
        "was refused"
    ),
    Finding.REDIS_REFUSES: (
        "set DESKBRIDGE_REDIS_URL with the right user and password in every process; the user must be allowed to write"
    ),
    Finding.NOT_A_TRACKER: "`deskbridge config set base_url=… --moved`, with the path that the tracker is under",
    Finding.ISSUE_TYPE_NOT_USABLE: "switch it on in the project's settings, or change default_tracker_id",
    Finding.WORKER_SET_UP_OTHERWISE: "if it stays, give every worker the environment of this command, and restart it",
    Finding.MIGRATIONS_DUE: "run `deskbridge migrate`",
    Finding.REDIS_UNREACHABLE: "check that it runs, and DESKBRIDGE_REDIS_URL",
    Finding.REDIS_FULL: (
        "raise `maxmemory` of Redis (`CONFIG SET maxmemory …` and redis.conf), or give deskbridge a Redis of its own "
        "(DESKBRIDGE_REDIS_URL)"
    ),
    Finding.REDIS_READ_ONLY: (
        "set DESKBRIDGE_REDIS_URL to the server that takes writes (or to the Sentinels) in every process; "
        "if this one is to take them, `REPLICAOF NO ONE`"
    ),
    Finding.REDIS_CANNOT_SAVE: "make room on the disk of Redis, and check its log; it takes writes once it can save",
    Finding.REDIS_LACKS_REPLICAS: "start the replicas of Redis, or lower its `min-replicas-to-write`",
    Finding.REDIS_LOADING: "wait; if it takes long, look at the log of Redis",
    Finding.REDIS_CROWDED: "raise `maxclients` of Redis, or end what holds so many connections (`CLIENT LIST`)",
    Finding.REDIS_NOT_WRITABLE: "correct what Redis says, or check DESKBRIDGE_REDIS_URL",
    Finding.REDIS_MAY_EVICT: NO_EVICTION,
    Finding.SIGNS_EVICTED: NO_EVICTION,
    Finding.OTHERS_IN_REDIS: (
        "give each a Redis database of its own (DESKBRIDGE_REDIS_URL ends with its number), so that neither fills the "
        "other's memory"
    ),
    Finding.BROKER_UNREACHABLE: "check that it runs, and DESKBRIDGE_BROKER_URL",
    Finding.NO_WORKER: "start `deskbridge worker`",
    Finding.WORKER_CANNOT_OPEN_KEY: "restart it with the DESKBRIDGE_SECRET_KEYS of the others and of this command",
    Finding.NO_BEAT: "start `deskbridge beat` (it needs DESKBRIDGE_REDIS_URL, too)",
    Finding.NO_PRODUCER: (
        "start `deskbridge producer`; where it runs, look at its log, and run what `deskbridge grants` prints"
    ),
    Finding.NO_CONSOLE: "start `deskbridge console` (it needs DESKBRIDGE_REDIS_URL, too)",
    Finding.EVENTS_PARKED: "see why on the plugin's page in GLPI, and choose *Send everything now* once that is fixed",
    Finding.TICKETS_UNLINKED: "`deskbridge link entity {id} TRACKER_PROJECT_ID --replay`, unless that is meant",
    Finding.LINKED_SINCE: "`deskbridge replay --state skipped --code no_link`",
    Finding.MORE_UNLINKED: "`deskbridge events --state skipped`",
    Finding.NO_TASK_IS_DONE: (
        "`deskbridge config set done_state=…` where another state means Done, then "
        "`deskbridge replay --state skipped --code not_done`"
    ),
    Finding.NO_EVENT_YET: "save a ticket task on the helpdesk; is the address right, and the secret the same?",
    Finding.LAST_EVENT: "is that how busy the helpdesk is? Look at what it has queued",
    Finding.DELIVERIES_UNREADABLE: "use GLPI's default payload, then `deskbridge reconcile`",
    Finding.HELPDESK_API_UNREACHABLE: "check DESKBRIDGE_GLPI_API_… and the rights of that user",
    Finding.HELPDESK_CLOCK_DIFFERS: "synchronise the clock of every machine (NTP)",
    Finding.NOT_RECONCILED: "workers do it once a day: do they run, with DESKBRIDGE_GLPI_API_… set?",
    Finding.EVENTS_WERE_MISSED: "they were forwarded; find out why the helpdesk did not deliver them",
    Finding.CLOCKS_DIFFER: "synchronise the clock of every machine (NTP)",
    Finding.WORKER_CLOCK_AHEAD: "let NTP set the clock of {host}; nothing has to be restarted",
    Finding.WORKER_CLOCK_BEHIND: "let NTP set the clock of {host}; nothing has to be restarted",
    Finding.API_KEY_MISSING: "store it with `deskbridge config set-api-key`",
    Finding.API_KEY_UNREADABLE: "set DESKBRIDGE_SECRET_KEYS as it was, or store the API key again",
    Finding.API_KEY_OLD_ENCRYPTION: "run `deskbridge config rotate-keys`",
    Finding.METADATA_EMPTY: SYNC,
    Finding.METADATA_OLD: f"start a worker, or {SYNC}",
    Finding.METADATA_NOT_READ: (
        "correct what the tracker fails on (its log names it), then run `deskbridge sync-metadata`"
    ),
    Finding.NOTHING_LINKED: "`deskbridge link entity ID TRACKER_PROJECT_ID`",
    Finding.LINKS_NOT_ALL_READ: "`deskbridge doctor --all` looks at each, however long the tracker takes",
    Finding.NOT_REACHED_IN_TIME: "`deskbridge doctor --all` looks at each, however long the tracker takes",
    Finding.CALLS_SLOW: "look for what slows the tracker down: its processors, its memory, its database",
    Finding.TRACKER_SLOW: "look for what slows the tracker down: its processors, its memory, its database",
    Finding.NOT_LOOKED_AT: "fix what fails, then run `deskbridge doctor` again",
    Finding.CATEGORY_GONE: "`deskbridge link {kind} {id} {project_id} --category …`, or `--no-category`",
    Finding.CATEGORY_ASSIGNEE_LOCKED: (
        "give the category another assignee on the tracker, or unlock the user, then `deskbridge sync-metadata`"
    ),
    Finding.CONFIG_ID_UNKNOWN: "`deskbridge config set {name}=…`",
    Finding.ROLE_NOT_SET: "`deskbridge config set default_role_id=…`",
    Finding.ACTIVITY_NOT_SET: "`deskbridge config set default_activity_id=…`",
    Finding.ACTIVITY_NOT_USABLE: "enable it in the project's settings, or change default_activity_id",
    Finding.STATUSES_NOT_MAPPED: "`deskbridge config set 'status_map=…'`",
    Finding.STATUS_MAP_WRONG: "`deskbridge config set 'status_map=…'`",
    Finding.MATCHES_NEW: "`deskbridge users`, then `users --confirm`, or `map-user` where one is wrong",
    Finding.MATCHES_WAIT: MAP,
    Finding.MEMBERSHIP_BY_EMAIL: (
        "`deskbridge config set membership_for=confirmed`, then `deskbridge users --confirm-all`"
    ),
    Finding.FORMATTING_NOT_SET: (
        "`deskbridge config set text_formatting=…` as in Redmine under Administration, Settings, Text formatting"
    ),
    Finding.PEOPLE_UNKNOWN: MAP,
    Finding.PEOPLE_AMBIGUOUS: MAP,
    Finding.PEOPLE_LOCKED: "unlock them on the tracker, or say who does their work now with `deskbridge map-user`",
    Finding.PEOPLE_DELETED: MAP,
    Finding.TRACKER_NOT_SET_UP: SET_UP_FIRST,
    Finding.TRACKER_NOT_USABLE: "check that it runs, and `deskbridge config show`",
    Finding.KEY_NOT_KNOWN: "store another with `deskbridge config set-api-key`",
    Finding.KEY_NOT_ADMINISTRATOR: "store an administrator's with `deskbridge config set-api-key`",
    Finding.REST_API_OFF: "switch it on in the tracker's settings (Administration, Settings, API)",
    Finding.TRACKER_REFUSES: "run `deskbridge doctor` again",
    Finding.RATE_LIMIT_LOW: (
        "set DESKBRIDGE_RATE_LIMIT to 1 or more, or to 0 for no limit, in every process, and restart the workers"
    ),
    Finding.IMPERSONATION_IGNORED: "check header_prefix (`deskbridge config show`) and the proxies in between",
    Finding.IMPERSONATION_UNEXPECTED: "check header_prefix (`deskbridge config show`) and the proxies in between",
    Finding.IMPERSONATION_UNKNOWN: "check header_prefix (`deskbridge config show`) and the proxies in between",
    Finding.MODULES_MISSING: "enable them in the project's settings",
    Finding.LINKED_PROJECT_CLOSED: "reopen it on the tracker, or `deskbridge link {kind} {id} …` to another one",
    Finding.LINKED_PROJECT_ARCHIVED: "unarchive it on the tracker, or `deskbridge link {kind} {id} …` to another one",
    Finding.LINKED_PROJECT_GONE: "`deskbridge link {kind} {id} …` to another one, or `deskbridge unlink {kind} {id}`",
    Finding.TEMPLATE_NOT_RENDERED: (
        "`deskbridge template preview {id}`, fix it, or `deskbridge template rollback {id}`"
    ),
    Finding.TEMPLATE_OUT_OF_DATE: (
        "`deskbridge template save`, corrected, then `activate`; or `deskbridge template deactivate {id}`"
    ),
    Finding.CUSTOM_FIELDS_NOT_SENT: (
        "give them a default value on the tracker, or activate a template for {operation} "
        "(`deskbridge template generate --operation {operation}`)"
    ),
    Finding.DRY_RUNS_LEFT: "delete it on the tracker, or wait: the sweep tries again",
    Finding.EVENTS_PENDING: "`deskbridge trace {ticket_id}` shows what it waits for",
    Finding.ROWS_HELD: "`deskbridge held`",
    Finding.HELD_FOR_NOTHING: "`deskbridge replay --state held`",
    Finding.EVENTS_FAILED_FOR: "fix it, then `deskbridge replay --state failed --code {code}`",
    Finding.EVENTS_FIXED: "`deskbridge replay --state failed --code {code}`",
    Finding.EVENTS_FAILED: "`deskbridge events --state failed`, fix the cause, `deskbridge replay --state failed`",
    Finding.AUTHORS_WRONG: "`deskbridge misattributed`",
    Finding.AUTHORS_DELETED: (
        f"{MAP}, then `deskbridge correct-author TASK_ID` for the hours (ticket tasks {{tasks}})"
    ),
    Finding.STATUSES_NOT_GIVEN: "fix it, then `deskbridge replay {events: }`",
    Finding.FIELDS_NOT_TAKEN: (
        "`deskbridge trace {ticket_id}` names the fields; let a role set them on the tracker, or send them no more"
    ),
    Finding.RECOVERY_ON: "`deskbridge recover --end` once everything was sent again",
}
