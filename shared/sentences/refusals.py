"""What refusals say: why deskbridge did not do what was asked."""

from __future__ import annotations

from shared.codes.refusals import Formerly, Refusal
from shared.sentences.template import Plural, Table

SENTENCES: Table = {
    Refusal.WRONG_USAGE: "{text}",
    Refusal.STOPPED_BY_USER: "stopped",
    Refusal.FILE_NOT_USABLE: "[{file}: ]{error}",
    Refusal.UNEXPECTED_ERROR: (
        "a fault in deskbridge itself, please report it[: {type}: {error}][ at {place}]"
    ),
    Refusal.ENVIRONMENT_NOT_VALID: "{faults:; }",
    Refusal.VARIABLES_UNKNOWN: Plural(
        "deskbridge has no setting {variables}: correct the name of the variable, or remove it",
        "deskbridge has no settings {variables}: correct the names of the variables, or remove them",
    ),
    Refusal.VARIABLE_NOT_READ: "{variable}: the file cannot be read ({error})",
    Refusal.EXTRA_NOT_INSTALLED: (
        "{variable} is set, but {package} is not installed: add the extra {extra} to the lock file and install "
        "deskbridge again"
    ),
    Refusal.SENTRY_DSN_MALFORMED: "DESKBRIDGE_SENTRY_DSN is no DSN of a Sentry project",
    Refusal.MONITOR_NOT_BOUND: "DESKBRIDGE_MONITOR_LISTEN: {address} cannot be bound ({error})",
    Refusal.SECRET_KEYS_NOT_SET: ("DESKBRIDGE_SECRET_KEYS is not set: make a key with `deskbridge make-key`"),
    Refusal.WEBHOOK_SECRETS_NOT_SET: (
        "DESKBRIDGE_WEBHOOK_SECRETS is not set: make a secret with `deskbridge make-secret` and give it "
        "to the helpdesk, too (or DESKBRIDGE_ALLOW_UNSIGNED=1 for a first try on this machine)"
    ),
    Refusal.WEBHOOK_SECRET_MALFORMED: (
        "DESKBRIDGE_WEBHOOK_SECRETS: each must have the form {prefix}<base64> (make one: `deskbridge "
        "make-secret`)"
    ),
    Refusal.WEBHOOK_SECRET_NOT_ENCODED: (
        "DESKBRIDGE_WEBHOOK_SECRETS: what follows {prefix} must be base64 (make one: `deskbridge "
        "make-secret`)"
    ),
    Refusal.WEBHOOK_SECRET_TOO_SHORT: (
        "DESKBRIDGE_WEBHOOK_SECRETS: a secret has fewer than {least} bytes and could be guessed (make "
        "one: `deskbridge make-secret`)"
    ),
    Refusal.GLPI_SECRET_TOO_SHORT: (
        "DESKBRIDGE_GLPI_WEBHOOK_SECRETS: a secret has fewer than {least} bytes and could be guessed (make "
        "one: `deskbridge make-token`, and type it into GLPI's webhooks)"
    ),
    Refusal.UNSIGNED_NOT_ON_LOOPBACK: "DESKBRIDGE_ALLOW_UNSIGNED=1 is only accepted on a loopback address",
    Refusal.SIGN_ON_WITHOUT_KEYS: (
        "OIDC_ISSUER needs DESKBRIDGE_SECRET_KEYS (make one: `deskbridge make-key`)"
    ),
    Refusal.HELPDESK_API_NOT_SET: (
        "GLPI cannot be asked, since DESKBRIDGE_GLPI_API_URL is not set: set it "
        "(`deskbridge knowledge show KB-HELPDESK-003` explains how)"
    ),
    Refusal.UNITS_NO_VENV: "{venv} is no venv with deskbridge that a unit can name",
    Refusal.UNITS_NOT_SEEN: "units do not see {venv}: set deskbridge up in {place}",
    Refusal.UNITS_ARE_PACKAGED: "the package deskbridge is installed, and has brought the units",
    Refusal.UNITS_NEED_ROOT: "only root can install units; --dry-run shows them to anybody",
    Refusal.UNITS_NEED_SYSTEMD: ("systemd does not run this machine; --dry-run shows what would be written"),
    Refusal.UNITS_COMMAND_FAILED: "{command}: {error}",
    Refusal.ENVIRONMENT_NOT_LOADED: (
        "the environment of the installation is not loaded: no DESKBRIDGE_ variable is set, and the database of the "
        "default, {file}, does not exist; load the environment, or begin a new installation with `deskbridge migrate`"
    ),
    Refusal.DATABASE_MISSING: (
        "the SQLite database {file} does not exist: check DESKBRIDGE_DATABASE_URL, or make it with `deskbridge migrate`"
    ),
    Refusal.DATABASE_CONFLICT: "the same data was changed at the same time; try again[ ({error})]",
    Refusal.DATABASE_NOT_MIGRATED: (
        "the database's tables are not those of this version: run `deskbridge migrate`[ ({error})]"
    ),
    Refusal.DATABASE_WITHOUT_TABLES: "the database has no tables yet: run `deskbridge migrate`",
    Refusal.DATABASE_TOO_OLD: (
        "the database is at revision {found}, not at {newest}: run `deskbridge migrate`"
    ),
    Refusal.DATABASE_TOO_NEW: (
        "the database is at revision {found}, newer than this version of deskbridge ({newest}): update "
        "deskbridge"
    ),
    Refusal.TABLE_LOCKED: (
        "a table is locked (by a running backup?): nothing was changed; try again when it is done"
    ),
    Refusal.DATABASE_DOWN: (
        "the database cannot be used[: {error}]: check that it runs and has connections to spare, and "
        "DESKBRIDGE_DATABASE_URL"
    ),
    Refusal.DATABASE_HELD: (
        "another process holds what this command needs in the database: try again in a minute[ ({error})]"
    ),
    Refusal.DATABASE_FAILED: "the database failed[: {error}]",
    Refusal.REDIS_DOWN: "Redis cannot be reached: check that it runs, and DESKBRIDGE_REDIS_URL[ ({error})]",
    Refusal.TRACKER_NOT_CONFIGURED: "no tracker is configured: `deskbridge config set base_url=https://…`",
    Refusal.API_KEY_NOT_STORED: "no API key is stored: `deskbridge config set-api-key`",
    Refusal.API_KEY_NOT_OPENED: (
        "the stored API key cannot be opened with DESKBRIDGE_SECRET_KEYS[ of the worker on {host}]: add the key that "
        "it was stored with[, and restart the worker on {host}]"
    ),
    Refusal.API_KEY_EMPTY: "the API key is empty",
    Refusal.API_KEY_MALFORMED: ("the API key must be one line of printable ASCII characters without blanks"),
    Refusal.CONFIG_NOT_VALID: "{faults:; }",
    Refusal.CONFIG_KEY_UNKNOWN: "no such configuration key: {keys} (there are: {known})",
    Refusal.ADDRESS_NOT_EMPTIED: (
        "base_url cannot be emptied: {issues} and {entries} were created at {before}; to stop sending, "
        "stop the workers"
    ),
    Refusal.ADDRESS_IN_USE: (
        "base_url stays {before}: {issues} and {entries} were created at {before}, and their numbers "
        "mean something else at {base_url}. Is it the same tracker under a new address? Then add "
        "--moved. Another tracker needs an installation and a database of its own"
    ),
    Refusal.METADATA_BUSY: "another metadata synchronisation is under way",
    Refusal.METADATA_PART_UNKNOWN: "no such part of the metadata: {part} (there are: {parts})",
    Refusal.ID_NOT_ON_TRACKER: (
        "the tracker has no {kind:word} {id}; there are: {choices}[ and {more} more] (new ones are known "
        "after `deskbridge sync-metadata`)"
    ),
    Refusal.ID_SWITCHED_OFF: (
        "{id} ({name}) is switched off on the tracker; there are: {choices}[ and {more} more] (new ones "
        "are known after `deskbridge sync-metadata`)"
    ),
    Refusal.CATEGORY_NOT_OF_PROJECT: (
        "tracker project {project_id} has no issue category {category_id}; it has: {choices}[ and {more} "
        "more] (new ones are known after `deskbridge sync-metadata`)"
    ),
    Refusal.PROJECT_WITHOUT_CATEGORIES: (
        "tracker project {project_id} has no issue category {category_id}; it has none (new ones are "
        "known after `deskbridge sync-metadata`)"
    ),
    Refusal.TRACKER_USERS_UNKNOWN: (
        "the tracker has no active user {users}; there are: {choices}[ and {more} more] (new ones are "
        "known after `deskbridge sync-metadata`)"
    ),
    Refusal.EVENTS_UNKNOWN: "no such event: {events} (see `deskbridge events`)",
    Refusal.EVENT_UNKNOWN: "there is no event {event_id} (`deskbridge events`)",
    Refusal.TICKET_UNKNOWN: ("nothing was ever heard of ticket {ticket_id} (see `deskbridge events`)"),
    Refusal.LINK_UNKNOWN: "{kind:word} {id} is not linked (see `deskbridge links`)",
    Refusal.RECORD_UNKNOWN: "there is no knowledge record {record}",
    Refusal.OPERATION_UNKNOWN: "no such operation: {operation} (there are: {operations})",
    Refusal.TEMPLATE_UNKNOWN: "there is no template {template_id} (`deskbridge template list`)",
    Refusal.TEMPLATE_VERSION_UNKNOWN: (
        "template {template_id} has no version {version}: its newest is {newest}"
    ),
    Refusal.NO_VERSION_BEFORE: "no other version of template {template_id} was in force before",
    Refusal.ACCOUNT_UNKNOWN: "there is no account {name} (`deskbridge account list`)",
    Refusal.TOKEN_UNKNOWN: "there is no API token {name}",
    Refusal.OVERRIDE_UNKNOWN: ("helpdesk user {helpdesk_user_id} has no override (see `deskbridge users`)"),
    Refusal.NO_MATCH_TO_CONFIRM: (
        "no match by e-mail to be confirmed: {people} (see `deskbridge users`; `map-user` decides)"
    ),
    Refusal.PERSON_UNKNOWN: "nothing that is kept names this person",
    Refusal.NOT_ON_TRACKER: (
        "the tracker has no {kind:noun} #{tracker_id}[ on issue #{issue_id}]: check the number"
    ),
    Refusal.CHANGE_UNKNOWN: "there is no change {change_id}",
    Refusal.HELPDESK_PROJECT_ZERO: "a helpdesk project's id is 1 or more",
    Refusal.PROJECT_CLOSED_NOW: (
        "tracker project {project_id}[ ({project_name})] is closed: reopen it on the tracker, then link it"
    ),
    Refusal.PROJECT_ARCHIVED_NOW: (
        "tracker project {project_id}[ ({project_name})] is archived: unarchive it on the tracker, then "
        "link it"
    ),
    Refusal.PROJECT_NOT_READ_YET: (
        "tracker project {project_id}[ ({project_name})] was not there at the last metadata "
        "synchronisation: run `deskbridge sync-metadata`, then link it"
    ),
    Refusal.CATEGORY_NOT_READ_YET: (
        "issue category {category_id} of tracker project {project_id}[ ({project_name})] was not there at "
        "the last metadata synchronisation: run `deskbridge sync-metadata`, then link it"
    ),
    Refusal.FORM_NOT_VALID: "{faults:; }",
    Refusal.PROJECT_IN_DOUBT: (
        "whether the tracker project {identifier} was created is not known ({problem}): send the same "
        "form again in a moment; it is looked up before anything is sent"
    ),
    Refusal.PROJECT_JUST_ASKED_FOR: (
        "a form asked for the tracker project {identifier} a moment ago, and it is not known yet whether "
        "it was created: send the form again in {seconds:g} seconds"
    ),
    Refusal.LINKS_NOT_IMPORTED: "nothing was imported: {faults:; }[; and {more} more]",
    Refusal.NOT_HELD_BUT: (
        "{kind:word} {id} does not wait for a person: it is {state:word} (see `deskbridge held`)"
    ),
    Refusal.NOT_HELD_NOR_KNOWN: (
        "{kind:word} {id} does not wait for a person: it is not known (see `deskbridge held`)"
    ),
    Refusal.EVENTS_PAST_RETENTION: (
        "nothing would have the time logged again: the events of ticket task {task_id} are past their "
        "retention; have the helpdesk send it again, then resolve it"
    ),
    Refusal.LINKED_MEANWHILE: "{kind:noun} #{number} was linked to something else just now",
    Refusal.LINKED_ALREADY: ("{kind:noun} #{number} belongs to {kind:word} {id} already; adopt another one"),
    Refusal.NOT_LINKED_TO_ANY: "{kind:word} {id} is not linked, so there is nothing to forget",
    Refusal.ADOPTION_NOT_A_PERSONS: "no person linked {kind:word} {id}, so there is nothing to take back",
    Refusal.SENT_SINCE_ADOPTION: (
        "something was sent to {kind:noun} #{tracker_id} since it was adopted, so that is not taken back: put it right "
        "on the tracker, then have the link forgotten (`deskbridge forget-link`)"
    ),
    Refusal.ADOPTION_IN_USE: "a worker is at ticket {ticket_id}; try again in a moment",
    Refusal.OLDER_THAN_SENT: (
        "{kind:noun} #{number} was created before anything was sent for {kind:word} {id}: say that it is this one all "
        "the same, or choose another"
    ),
    Refusal.LINK_IN_FLIGHT: (
        "{kind:word} {id} is under way ({state:word}), and what is under way is not forgotten; try again once it has "
        "ended (see `deskbridge trace`)"
    ),
    Refusal.LINK_FOR_A_PERSON: (
        "{kind:word} {id} waits for a person; decide on it with `deskbridge resolve` (see `deskbridge held`)"
    ),
    Refusal.TIME_ENTRY_UNKNOWN: ("ticket task {task_id} has no time entry (see `deskbridge misattributed`)"),
    Refusal.LOGGING_EVENT_PRUNED: (
        "the event that logged ticket task {task_id} is past its retention: correct it on the tracker"
    ),
    Refusal.HOURS_OF_NOBODY: "the ticket task names nobody whose hours these are",
    Refusal.HOURS_OF_SOMEBODY_UNKNOWN: (
        "the hours are those of helpdesk user {helpdesk_user_id}, who is nobody on the tracker yet: say "
        "who they are (`deskbridge map-user`), then try again"
    ),
    Refusal.AUTHOR_REFUSED: (
        "the tracker refused {login} ({problem}); only a member of the issue's project can have hours there"
    ),
    Refusal.AUTHOR_IGNORED: "the tracker did not give time entry #{time_entry_id} to {login}",
    Refusal.DATA_STILL_NEEDED: (
        "what names this person is not done yet in {tickets} of the tickets ({examples}): wait until "
        "`deskbridge events --state pending` and `deskbridge held` show them no more, then forget"
    ),
    Refusal.RESTORED_IN_FUTURE: "--since {since} lies in the future: name when the backup was made",
    Refusal.TEMPLATE_FIELD_NOT_VALID: "{faults:; }",
    Refusal.TEMPLATE_NOT_ACTIVE: "template {template_id} is not active",
    Refusal.TEMPLATE_IS_ACTIVE: "template {template_id} is active: deactivate it first",
    Refusal.TEMPLATE_ACTIVATED_MEANWHILE: "another template was activated at the same moment; try again",
    Refusal.TEMPLATE_CONFLICT: (
        "template {template_id} is at version {version}, not {based_on}: look at what changed, and edit "
        "that version"
    ),
    Refusal.FORM_IS_NO_EVENT: (
        "{operation} starts from a form: preview it with the sample or a context of your own"
    ),
    Refusal.NOTHING_LINKED_YET: (
        "nothing is linked yet, so no tracker project is known: `deskbridge link`, or name an event"
    ),
    Refusal.EVENT_WITHOUT_TASK: "event {event_id} is about no ticket task, so no time is logged for it",
    Refusal.EVENT_OF_DELETION: "event {event_id} is about a deletion, so nothing is sent for it",
    Refusal.EVENT_NOT_LINKED: (
        "the ticket of event {event_id} has no project or entity link, so nothing is sent"
    ),
    Refusal.NO_PROJECT_FOR_DRY_RUN: (
        "no tracker project is known for this context: link the project or entity of its ticket, or name one"
    ),
    Refusal.TEMPORARY_NOT_FILLED: (
        "the dry run needs a temporary {kind:word}, and the tracker requires the custom field {name} of "
        "it, which deskbridge cannot fill ({format}): give the field a default value on the tracker"
    ),
    Refusal.TEMPORARY_REFUSED: (
        "the dry run needs a temporary {kind:word}, and the tracker refused it: {status}[, {errors:; "
        "}][; {hints:; }]"
    ),
    Refusal.ACCOUNT_NAME_TAKEN: "there is an account {name} already",
    Refusal.ACCOUNT_NAME_UNFIT: "a name has 1 to 100 letters, digits, blanks or any of . _ @ + -",
    Refusal.ACCOUNT_RIGHT_UNKNOWN: "an account's right is one of {rights}",
    Refusal.TOKEN_RIGHT_UNKNOWN: "a token's right is one of {rights}",
    Refusal.ACCOUNT_SHUT: "the account {name} is shut",
    Refusal.ACCOUNT_NOT_ADDED: "there is no account {name}: an administrator can add it",
    Refusal.LAST_ADMINISTRATOR: "{name} is the only administrator: make another one first",
    Refusal.PASSWORD_TOO_SHORT: "a password has at least {least} characters",
    Refusal.TOKEN_HAS_ENDED: "the token {name} is revoked or has expired: make a new one; its name is free",
    Refusal.TOKEN_NAME_TAKEN: "there is a token {name}; choose another name",
    Refusal.TOKEN_EXCEEDS_OWNER: (
        "a token may do no more than its owner: it was to have the right {right:word}, and {name} has {has:word}"
    ),
    Refusal.SIGN_IN_BUSY: "too many sign in at this moment: try again",
    Refusal.SIGN_ON_BEGUN_ELSEWHERE: "This sign-in was begun elsewhere: begin anew.",
    Refusal.SIGN_ON_TOO_LATE: "This sign-in took too long: begin anew.",
    Refusal.SIGN_ON_DENIED: "Your provider did not let you in.",
    Refusal.SIGN_ON_WITHOUT_NAME: "Your provider does not say who you are.",
    Refusal.SIGN_ON_UNVERIFIED: "Your provider has not verified your e-mail address.",
    Refusal.SIGN_ON_NO_GROUP: "None of your groups may come in here.",
    Refusal.PROVIDER_NAMED_OTHERWISE: "the OpenID provider calls itself by another name than OIDC_ISSUER",
    Refusal.PROVIDER_LACKS_ENDPOINT: "the OpenID provider names no {name} that can be used",
    Refusal.PROVIDER_TOKEN_FAULTY: "the OpenID provider's ID token is not good: {error}",
    Refusal.PROVIDER_TOKEN_FOREIGN: "the OpenID provider's ID token is for another client",
    Refusal.PROVIDER_UNREACHABLE: "the OpenID provider cannot be asked: {method} {address}: {error}",
    Refusal.PROVIDER_ANSWER_UNUSABLE: (
        "the OpenID provider's answer cannot be used: {method} {address} answered {status}"
    ),
    Refusal.EVENT_NOT_VALID: "{faults:; }",
    Refusal.EVENT_FILE_NOT_TEXT: "line {line}: not UTF-8",
    Refusal.EVENTS_NOT_SENT: "nothing was sent:\n{faults:\n}[\n… and {more} more]",
    Refusal.EVENTS_SENT_IN_PART: Plural(
        "{problem} ({count} event was taken before it)",
        "{problem} ({count} events were taken before it)",
    ),
    Refusal.PRODUCER_UNREACHABLE: "{url} cannot be reached: is `deskbridge producer` running? ({error})",
    Refusal.PRODUCER_UNLIKE_ONE: "{url} does not answer as a producer does",
    Refusal.PRODUCER_REFUSED: ("the producer refused with {status}: {errors:; }[; try again in {wait} s]"),
    Refusal.SAMPLE_NOT_LINKED: (
        "entity {entity_id} is not linked, so a sample of it would not be sent: "
        "`deskbridge link entity {entity_id} TRACKER_PROJECT_ID`"
    ),
    Refusal.SAMPLE_WAITS: (
        "the sample is not done after {seconds:g} s: {because}; see `deskbridge doctor`, then remove the sample with "
        "`deskbridge send --sample --clean-up`"
    ),
    Refusal.SAMPLE_UNDER_WAY: (
        "sample {id} is not removed yet, since whether its {kind:noun} exists is not known; repeat "
        "`deskbridge send --sample --clean-up` in a minute"
    ),
    Refusal.SAMPLE_AT_WORK: (
        "sample {id} is not removed yet, since a worker or another command works on it; repeat "
        "`deskbridge send --sample --clean-up` in a minute"
    ),
    Refusal.SAMPLE_UNMARKED: (
        "issue #{issue_id} of sample {id} is not deleted, since neither its subject nor its description says "
        "“{mark}”; look at it, delete it on the tracker, then repeat `deskbridge send --sample --clean-up`"
    ),
    Refusal.SAMPLE_IN_USE: (
        "issue #{issue_id} of sample {id} is not deleted, since there is time of other people on it, or an issue below "
        "it; move that away, then repeat `deskbridge send --sample --clean-up`"
    ),
    Refusal.HELPDESK_UNANSWERED: "the helpdesk's API gave no usable answer: {problem}",
    Refusal.ADDRESS_UNKNOWN: "there is nothing at this address",
    Refusal.METHOD_NOT_POSSIBLE: "this is not possible at this address",
    Refusal.REQUEST_NOT_VALID: "fix the named fields",
    Refusal.FORM_UNREADABLE: "send it again",
    Refusal.BODY_UNREADABLE: "the body cannot be read: send JSON in UTF-8, not nested too deep",
    Refusal.REQUEST_REFUSED: "the request was refused with {status}",
    Refusal.FORM_OF_ANOTHER_SITE: "the form was sent by another site; open the page and try again",
    Refusal.FORM_OF_EARLIER_SESSION: (
        "you have signed in anew since it was opened: open the page again; nothing was changed"
    ),
    Refusal.TOO_MANY_TOKENS: "wait before you try again",
    Refusal.TOO_MANY_TRIES: "wait {seconds} seconds",
    Refusal.TOKEN_NEEDED: (
        "send `Authorization: Bearer TOKEN` with one of DESKBRIDGE_CONSOLE_TOKENS or `deskbridge account "
        "token`"
    ),
    Refusal.RIGHT_NEEDED: "this needs the right {needed:word}; yours is {has:word}",
    Refusal.AUTHORS_NOT_CORRECTED_HERE: "authors are changed only where DESKBRIDGE_CORRECT_AUTHORS=1 is set",
    Refusal.EVENT_OR_CONTEXT: "give `event_id` or `context`, not both",
    Refusal.PROJECT_OR_CREATE: "give either `tracker_project_id` or `create`",
    Refusal.OPERATION_AND_BODY: "give `operation` and `body`, or `template_id`",
    Refusal.DRY_RUN_BY_GET: "a dry run changes the tracker: ask for it with POST",
    Refusal.NOT_REPLAYED_TOGETHER: "only failed and skipped events are replayed together",
    Refusal.NOTHING_ASKED_FOR: "say what to do",
    **dict.fromkeys(Formerly, "{text}"),
}

WHY: Table = {}
