"""A large organisation in PostgreSQL: events with payloads and states as they are in one, made by SQL in seconds.

Of 200,000 events over 60 days come 40,000 tickets, as many issues, and 120,000 time entries of 300 people. Nearly all
are done. A ticket's five events lie some thousand events apart, and each has other people and another entity.
"""

# ruff: noqa: S608 (all of it is written here)
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import text

from shared.store.tables.database import Database

EVENTS = 200_000
DAYS, PEOPLE, ENTITIES = 60, 300, 60
AT_ONCE = 2
PERSON = 1000
"""People have the numbers above it, in GLPI and in Redmine."""

AT = "now() - (:events - i) * interval '{days} days' / :events".replace("{days}", str(DAYS))

SNAPSHOT = """format(
    '{"id": %s, "title": "%s %s in room %s", "content": "<p>%s</p>", "status": %s, "entity_id": %s, '
    '"entity_name": "Root > Site %s", "technician": %s, '
    '"url": "https://glpi.example.test/front/ticket.form.php?id=%s", "urgency": 3, '
    '"impact": 3, "priority": 3, "type": 1, "category": {"id": 4, "name": "Hardware > Printers"}, '
    '"requester": %s}',
    ticket, (ARRAY['Printer', 'Scanner', 'Mailbox', 'Laptop', 'Phone'])[1 + ticket % 5], ticket, ticket % 97,
    repeat('It does not work since Monday, and the light is red. ', 6), CASE WHEN nth = 4 THEN 5 ELSE 2 END,
    entity, entity, {technician}, ticket, {requester})"""


def _person(number: str) -> str:
    """Return the SQL of a person in a snapshot."""
    return (
        f"""format('{{"id": %s, "email": "person%s@example.test", "name": "Person %s Miller"}}',"""
        f" {PERSON} + {number}, {number}, {number})"
    )


SNAPSHOT = SNAPSHOT.replace("{technician}", _person("technician")).replace(
    "{requester}", _person("requester")
)
TASK = (
    """format('{"id": %s, "content": "<p>%s</p>", "state": 2, "actiontime": %s, "user": %s, "date": "%s", """
    """"is_private": false}', task, repeat('Looked at it and changed the part. ', 4), 900 * (1 + task % 16), """
    + _person("technician")
    + """, to_char(at, 'YYYY-MM-DD'))"""
)

NUMBERED = f"""
    SELECT i, {AT} AS at, ticket, nth, CASE WHEN nth BETWEEN 1 AND 3 THEN (ticket - 1) * 3 + nth END AS task,
        1 + ticket * 7 % {PEOPLE} AS technician, 1 + ticket * 11 % {PEOPLE} AS requester,
        ticket * 13 % {ENTITIES} AS entity,
        CASE WHEN i % 1000 = 7 THEN 'failed' WHEN i % 4000 = 11 THEN 'on_hold'
            WHEN i > :events - :events / 2000 THEN 'pending'
            WHEN i % 20 = 3 THEN 'skipped' WHEN i % 50 = 9 THEN 'superseded' ELSE 'done' END AS state
    FROM (SELECT i, (i - 1) / 5000 * 1000 + (i - 1) % 1000 + 1 AS ticket, (i - 1) % 5000 / 1000 AS nth
        FROM generate_series(:first, :last) i) one"""
"""Each five thousand events are those of a thousand tickets: the ticket, its three tasks, and the ticket again."""

REASON = """CASE state WHEN 'failed' THEN (ARRAY['tracker_rejected', 'gave_up'])[1 + i / 1000 % 2]
    WHEN 'on_hold' THEN 'waits_for_person'
    WHEN 'skipped' THEN (ARRAY['not_done', 'no_link'])[1 + i / 20 % 2] WHEN 'superseded' THEN 'newer_ticket_event'
    WHEN 'done' THEN CASE WHEN task IS NULL THEN 'status_set' ELSE 'time_logged' END END"""
JOURNAL = f"""
    INSERT INTO journal (delivery_id, digest, event, key, ticket_id, task_id, occurred_at, clamped, sequence,
        received_at, payload, state, code, params, attempts, ended_at)
    SELECT 'delivery-' || i, md5(i::text) || md5(i::text), event, CASE WHEN task IS NULL THEN 'ticket:' || ticket
        ELSE 'ticket-task:' || task END, ticket, task, at, false, 0, at,
        CASE WHEN task IS NULL THEN format('{{"event": "%s", "occurred_at": "%s", "ticket": %s}}', event, at, snapshot)
        ELSE format('{{"event": "%s", "occurred_at": "%s", "ticket": %s, "task": %s}}', event, at, snapshot, {TASK})
        END,
        state, reason, CASE reason WHEN 'gave_up' THEN '{{"count": 5}}' WHEN 'tracker_rejected'
            THEN format('{{"method": "POST", "path": "/issues/%s/time_entries.json", "status": 422}}', ticket)
            WHEN 'waits_for_person' THEN format('{{"kind": "ticket", "key": %s}}', ticket)
            ELSE format('{{"issue_id": %s}}', ticket) END, 0,
        CASE WHEN state <> 'pending' THEN at + interval '2 seconds' END
    FROM (SELECT *, CASE WHEN task IS NULL THEN 'ticket.updated' ELSE 'ticket_task.updated' END AS event,
        {SNAPSHOT} AS snapshot, {REASON} AS reason FROM ({NUMBERED}) numbered) told"""
STATES = f"""
    INSERT INTO ticket_state (ticket_id, event_id, occurred_at, sequence, status, snapshot, given_event_id,
        given_status_id, status_due, status_attempts)
    SELECT ticket, i, at, 0, 5, {SNAPSHOT}, i, 3, false, 0 FROM ({NUMBERED}) numbered WHERE nth = 4"""
LEDGER = """
    INSERT INTO {table} ({key}, state, attempt, event_id, tracker_project_id, issue_id, body, fingerprint,
        first_claimed_at, claimed_at, lease_until, rounds, tracker_id, adopted, duplicate, author_id, code,
        params, changed_at)
    SELECT {values}, CASE WHEN i % 4000 = {held} THEN 'on_hold' ELSE 'linked' END, 1, i, 1, ticket, {body},
        md5({number}::text) || md5('x'), at, at, at, 0, CASE WHEN i % 4000 = {held} THEN NULL ELSE {number} END, false,
        false, {person} + technician, 'created_by_event', format('{{"event_id": %s}}', i), at
    FROM ({numbered}) numbered WHERE {where}"""
ISSUE_BODY = """format('{"issue": {"project_id": 1, "subject": "Printer %s", "description": "%s"}}', ticket,
    repeat('It does not work since Monday, and the light is red. ', 6))"""
ENTRY_BODY = """format('{"time_entry": {"issue_id": %s, "hours": %s, "comments": "%s", "activity_id": 9, '
    '"spent_on": "%s"}}', ticket, 0.25 * (1 + task % 16),
    repeat('Looked at it and changed the part. ', 4), to_char(at, 'YYYY-MM-DD'))"""
TRACE = f"""
    INSERT INTO trace_step (ticket_id, task_id, at, code, params, call)
    SELECT ticket, task, at, 'call_answered', '{{"method": "POST", "path": "/issues.json",
        "status": 201, "ms": 3, "actor": {{"code": "as_administrator", "params": {{}}}}}}', format('{{"method": "POST",
        "path": "/issues.json", "as": null, "status": 201, "ms": 3, "body": {{}}}}')
    FROM ({NUMBERED}) numbered"""


def _ledger(table: str, key: str, values: str, number: str, where: str, body: str, held: int) -> str:
    named = {"table": table, "key": key, "values": values, "number": number, "where": where, "body": body}
    return LEDGER.format(numbered=NUMBERED, person=PERSON, held=held, **named)


LARGE = {
    "journal": JOURNAL,
    "ticket_state": STATES,
    "ticket_issue_link": _ledger(
        "ticket_issue_link", "ticket_id", "ticket", "ticket", "nth = 0", ISSUE_BODY, 11
    ),
    "task_time_link": _ledger(
        "task_time_link", "task_id, ticket_id", "task, ticket", "task", "task IS NOT NULL", ENTRY_BODY, 2011
    ),
    "trace_step": TRACE,
}
"""What makes each large table out of the numbers of events from `:first` to `:last`, of `:events` in all."""

SMALL = (
    f"""INSERT INTO tracker_user (tracker_user_id, login, name, mail, mail_key, admin)
        SELECT {PERSON} + i, 'person' || i, 'Person ' || i || ' Miller', 'person' || i || '@example.test',
            'person' || i || '@example.test', false FROM generate_series(1, {PEOPLE}) i""",
    f"""INSERT INTO helpdesk_user (helpdesk_user_id, email, seen_at)
        SELECT {PERSON} + i, 'person' || i || '@example.test', now() FROM generate_series(1, {PEOPLE}) i""",
    f"""INSERT INTO user_pin (helpdesk_user_id, tracker_user_id, pinned_at, confirmed_at)
        SELECT {PERSON} + i, {PERSON} + i, now(), now() FROM generate_series(1, {PEOPLE}) i""",
    f"""INSERT INTO metadata_row (kind, tracker_id, name, tracker_project_id, details)
        SELECT 'project', 1000 + i, 'Site ' || i, NULL, '{{"identifier": "site", "parent_id": null, "is_public": true}}'
        FROM generate_series(1, {ENTITIES}) i""",
    f"""INSERT INTO entity_link (entity_id, tracker_project_id, default_category_id)
        SELECT i, 1000 + i, NULL FROM generate_series(10, {ENTITIES}) i""",
    """INSERT INTO misattributed (kind, key, ticket_id, tracker_id, at, code, params)
        SELECT 'ticket', i * 20, i * 20, i * 20, now() - i * interval '1 minute', 'switch_was_ignored',
            '{}' FROM generate_series(1, :events / 100) i""",
    """INSERT INTO change_record (at, who, code, params)
        SELECT now() - i * interval '1 minute', 'claire', 'metadata_read', '{}'
        FROM generate_series(1, :events / 40) i""",
)


def fill(database: Database, events: int = EVENTS) -> None:
    """Make the rows of so many events, and what belongs to them, in a database with its tables.

    Args:
        database: on PostgreSQL, and empty.
        events: a multiple of 5,000.
    """
    numbers = {"first": 1, "last": events, "events": events}
    engine = database.engine.execution_options(isolation_level="AUTOCOMMIT")

    def one(statement: str) -> None:
        with engine.connect() as connection:
            used = {name: number for name, number in numbers.items() if f":{name}" in statement}
            connection.execute(text(statement), used)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, LARGE.values()))
    for statement in SMALL:
        one(statement)
    with engine.connect() as connection:
        connection.execute(text("VACUUM ANALYZE"))
