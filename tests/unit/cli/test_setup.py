"""The commands that set up an installation: `migrate`, `secret` and `config`."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from cryptography.fernet import Fernet
from typer.testing import CliRunner

from producer.cli.main import app
from shared.events.config import PluginConfig
from shared.notices.kinds import Kind
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.journal import EventState
from tests.support.events import ticket_event
from tests.unit.cli.conftest import Shell
from tests.unit.cli.test_held import claim, link

pytestmark = pytest.mark.promise("OPS-07")

KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.usefixtures("environment")
def test_migrate_creates_the_tables_and_may_be_run_again() -> None:
    first = CliRunner().invoke(app, ["migrate"])
    again = CliRunner().invoke(app, ["migrate"])
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "created" in first.stdout
    assert "up to date" in again.stdout


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "command", ["event list", "mapping list", "hold list", "config show", "metadata sync", "ticket history 1"]
)
def test_a_command_on_an_empty_database_says_to_migrate(command: str) -> None:
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 1
    assert "deskbridge migrate" in result.stderr


@pytest.mark.usefixtures("environment")
def test_make_key_and_make_secret_print_what_the_settings_take() -> None:
    Fernet(CliRunner().invoke(app, ["secret", "key"]).stdout.strip())
    secret = CliRunner().invoke(app, ["secret", "webhook"]).stdout.strip()
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_config_show_has_every_key_and_of_the_api_key_only_whether_it_is_stored(shell: Shell) -> None:
    shown = shell.ask("config", "show")
    assert set(shown) == {*PluginConfig.model_fields, "api_key"}
    assert shown["api_key"] == "not stored"
    shell.do("config", "set-api-key", stdin=f"{KEY}\n")
    assert shell.ask("config", "show")["api_key"] == "stored"
    assert KEY not in shell.do("config", "show")


def test_an_api_key_is_stored_encrypted(shell: Shell) -> None:
    assert KEY not in shell.do("config", "set-api-key", stdin=f"  {KEY}\n")
    with shell.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    assert encrypted
    assert KEY not in encrypted


@pytest.mark.parametrize("typed", ["", "  \n", "two\nlines", "a\x07b", "schlüssel"])
def test_what_cannot_be_an_api_key_is_refused(shell: Shell, typed: str) -> None:
    assert "API key" in shell.fail("config", "set-api-key", stdin=typed)


def test_an_api_key_without_a_secret_key_is_refused_with_what_to_do(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKBRIDGE_SECRET_KEYS")
    assert "deskbridge secret key" in shell.fail("config", "set-api-key", stdin=KEY)


def test_config_set_takes_text_json_and_nothing(shell: Shell) -> None:
    shell.do(
        "config", "set", "base_url=https://tracker.example/", 'status_map={"2": 3}', "default_tracker_id=4"
    )
    shown = shell.ask("config", "show")
    assert (shown["base_url"], shown["status_map"], shown["default_tracker_id"]) == (
        "https://tracker.example",
        {"2": 3},
        4,
    )
    shell.do("config", "set", "default_tracker_id=")
    assert shell.ask("config", "show")["default_tracker_id"] is None


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        ("nonsense=1", "nonsense"),
        ("done_state=x", "done_state"),
        ("base_url", "KEY=VALUE"),
        ("api_key=x", "api_key"),
    ],
)
def test_config_set_refuses_what_does_not_fit_and_changes_nothing(
    shell: Shell, assignment: str, complaint: str
) -> None:
    before = shell.ask("config", "show")
    assert complaint in shell.fail("config", "set", "default_role_id=4", assignment, code=2)
    assert shell.ask("config", "show") == before


def test_ids_that_nothing_confirms_are_accepted_with_a_warning(shell: Shell) -> None:
    result = shell.type("config", "set", "default_watcher_ids=[5]", "default_role_id=4")
    assert result.exit_code == 0
    assert "default_role_id, default_watcher_ids" in result.stderr


def test_a_filled_cache_refuses_unknown_watchers_and_names_those_it_knows(shell: Shell) -> None:
    with shell.store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, "alice", "Alice Archer")])
    assert "5 (alice)" in shell.fail("config", "set", "default_watcher_ids=[5, 77]")
    assert shell.ask("config", "show")["default_watcher_ids"] == []
    shell.do("config", "set", "default_watcher_ids=[5]")


def test_what_a_dry_run_left_is_named_when_the_tracker_is_another_one(shell: Shell) -> None:
    shell.do("config", "set", "base_url=https://old.example")
    with shell.store.transaction() as tx:
        row = tx.dry_runs.begin("issue", "[deskbridge dry run 1]", 1, lease=60)
        tx.dry_runs.created(row.id, 17)
    result = shell.type("config", "set", "base_url=https://new.example")
    assert result.exit_code == 0
    assert "issue #17 “[deskbridge dry run 1]” on https://old.example" in " ".join(result.stderr.split())
    with shell.store.transaction() as tx:
        assert tx.dry_runs.all() == []


def test_base_url_may_change_while_nothing_was_created_and_links_are_to_be_checked(shell: Shell) -> None:
    shell.do("config", "set", "base_url=https://typo.example")
    with shell.store.transaction() as tx:
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, 3, 1, None))
        tx.people.put_override(7, 5)
    result = shell.type("config", "set", "base_url=https://new.example")
    assert result.exit_code == 0
    assert (
        "1 mapping (`deskbridge mapping list`) has ids of the Redmine at https://typo.example"
        in result.stderr
    )
    assert "1 user mapping" in result.stderr
    assert shell.ask("config", "show")["base_url"] == "https://new.example"


@pytest.mark.parametrize("kind", [Kind.TICKET, Kind.TICKET_TASK])
def test_base_url_cannot_change_under_what_was_created_unless_the_tracker_moved(
    shell: Shell, kind: Kind
) -> None:
    shell.do("config", "set", "base_url=https://old.example")
    with shell.store.transaction() as tx:
        tx.ledger(kind).claim(claim(kind, 4711), 20)
    complaint = shell.fail("config", "set", "base_url=https://new.example")
    assert "add --moved" in complaint
    assert ("1 issue and" if kind is Kind.TICKET else "1 time entry were") in complaint
    assert shell.ask("config", "show")["base_url"] == "https://old.example"
    shell.do("config", "set", "--moved", "base_url=https://new.example")
    assert shell.ask("config", "show")["base_url"] == "https://new.example"


def test_the_first_base_url_may_come_after_links_were_imported(shell: Shell) -> None:
    with shell.store.transaction() as tx:
        tx.issues.claim(claim(Kind.TICKET, 4711), 20)
    shell.do("config", "set", "base_url=https://redmine.example")


def test_the_guard_of_base_url_cannot_be_walked_round_by_emptying_it_first(shell: Shell) -> None:
    shell.do("config", "set", "base_url=https://old.example")
    with shell.store.transaction() as tx:
        tx.issues.claim(claim(Kind.TICKET, 4711), 20)
    for moved in ([], ["--moved"]):
        assert "cannot be empty" in shell.fail("config", "set", *moved, "base_url=")


def test_another_tracker_starts_with_nothing_known_of_the_old_one(shell: Shell) -> None:
    shell.do("config", "set", "base_url=https://old.example")
    with shell.store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, "alice", "Alice Archer")])
        tx.people.remember_member(1, 5)
    shell.do("config", "set", "base_url=https://new.example")
    with shell.store.transaction() as tx:
        assert tx.people.cached_count() == 0
        assert not tx.people.is_member_known(1, 5)


def fill(shell: Shell) -> None:
    """Fill the metadata cache."""
    kinds = MetadataKind
    with shell.store.transaction() as tx:
        tx.metadata.put(
            [
                Entry(kinds.ISSUE_TYPE, 1, "Bug"),
                Entry(kinds.STATUS, 1, "New"),
                Entry(kinds.STATUS, 5, "Closed"),
                Entry(kinds.ROLE, 4, "Developer"),
                Entry(kinds.PRIORITY, 2, "Normal"),
                Entry(kinds.ACTIVITY, 9, "Development"),
                Entry(kinds.ACTIVITY, 12, "Legacy", {"active": False}),
                Entry(kinds.PROJECT, 1, "Support", {"activity_ids": [9, 13]}),
                Entry(kinds.CATEGORY, 7, "Hardware", tracker_project_id=1),
            ]
        )


@pytest.mark.parametrize(
    ("assignment", "choices"),
    [
        ("default_tracker_id=99", "1 (Bug)"),
        ('status_map={"1": 1, "2": 77}', "5 (Closed), 1 (New)"),
        ("default_role_id=99", "4 (Developer)"),
        ("default_priority_id=99", "2 (Normal)"),
        ("default_activity_id=99", "valid: 9 (Development) (for new ones"),
        ("default_activity_id=12", "12 (Legacy) is disabled"),
    ],
)
def test_a_filled_cache_refuses_unknown_ids_and_names_the_choices(
    shell: Shell, assignment: str, choices: str
) -> None:
    fill(shell)
    before = shell.ask("config", "show")
    complaint = shell.fail("config", "set", assignment)
    assert assignment.partition("=")[0] in complaint
    assert choices in complaint
    assert shell.ask("config", "show") == before


def test_a_filled_cache_confirms_ids_without_a_warning(shell: Shell) -> None:
    fill(shell)
    values = ["default_tracker_id=1", 'status_map={"1": 5}', "default_role_id=4", "default_activity_id=9"]
    assert shell.type("config", "set", *values).stderr == ""
    assert shell.type("config", "set", "default_activity_id=13").exit_code == 0
    assert "without a check" not in shell.type("mapping", "add", "entity", "3", "1", "--category", "7").stderr


def test_every_unknown_id_is_named_at_once(shell: Shell) -> None:
    fill(shell)
    complaint = shell.fail("config", "set", "default_role_id=99", "default_tracker_id=99")
    assert "default_role_id: " in complaint
    assert "default_tracker_id: " in complaint


def test_links_lead_only_to_projects_and_categories_that_a_filled_cache_knows(shell: Shell) -> None:
    fill(shell)
    assert "1 (Support)" in shell.fail("mapping", "add", "entity", "3", "2")
    assert "7 (Hardware)" in shell.fail("mapping", "add", "entity", "3", "1", "--category", "8")
    assert shell.ask("mapping", "list") == []


@pytest.mark.promise("SEC-37")
def test_rotate_keys_encrypts_with_the_first_key_and_the_old_one_may_go(
    shell: Shell, environment: Callable[..., None]
) -> None:
    assert "Nothing to encrypt" in shell.do("config", "rotate-keys")
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    environment(SECRET_KEYS=old)
    shell.do("config", "set-api-key", stdin=KEY)
    environment(SECRET_KEYS=new)
    assert "cannot decrypt" in shell.fail("config", "rotate-keys")
    environment(SECRET_KEYS=f"{new},{old}")
    shell.do("config", "rotate-keys")
    with shell.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    assert encrypted
    assert Fernet(new).decrypt(encrypted.encode()).decode() == KEY
    environment(SECRET_KEYS=new)
    shell.do("config", "rotate-keys")


def test_make_token_prints_what_the_console_takes(shell: Shell) -> None:
    first, second = shell.do("secret", "token").strip(), shell.do("secret", "token").strip()
    assert first != second
    assert len(first) >= 32


def test_a_new_status_map_offers_with_a_count_to_give_what_the_old_one_gave(shell: Shell) -> None:
    (event_id,) = shell.receive(ticket_event())
    shell.end([event_id], EventState.DONE, "given")
    link(shell, Kind.TICKET, 4711, 12, event_id)
    with shell.store.transaction() as tx:
        tx.statuses.record_set([(4711, event_id, 9)])
    assert "The new status_map gives 1 ticket a different status" in shell.do(
        "config", "set", 'status_map={"2": 3}'
    )
    assert not shell.notified
    assert "sends the new status of 1 ticket" in shell.do("config", "set", "--replay", 'status_map={"2": 3}')
    assert shell.notified == [4711]
