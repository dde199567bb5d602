"""The template store: versions, drafts, one active template per operation, over SQLite and PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from producer.admin.records.transaction import Store
from producer.admin.templates.templates import EditedMeanwhile, Template, TemplateRefused, TemplateStore
from shared.errors import BridgeError, NotFound, TemplateError
from shared.notices.refusals import Refusal
from shared.notices.templates import TemplateRefusal
from shared.store.tables.configuration import PayloadTemplate
from tests.support.refusals import says

ISSUE, TIME = "issue.create", "time_entry.create"
GOOD = '{"issue": {"subject": "a"}}'
BETTER = '{"issue": {"subject": "b"}}'
FAULTY = '{"issue":\n  {"subject": "{{ticket.titel}}"}}'


@pytest.fixture
def templates(store: Store) -> TemplateStore:
    return TemplateStore(store)


def active(store: Store) -> dict[str, tuple[str, int, str]]:
    """Return the active templates: operation to (name, version, text)."""
    with store.transaction() as tx:
        return {key: (one.name, one.version, one.body) for key, one in tx.templates.active().items()}


def make(templates: TemplateStore, name: str = "first", body: str = GOOD, operation: str = ISSUE) -> Template:
    return templates.create(operation, name, body, "anna")


def test_a_new_template_is_kept_and_not_in_force(templates: TemplateStore, store: Store) -> None:
    made = make(templates)
    assert (made.version, made.active_version, made.fault, made.changed_by) == (1, None, None, "anna")
    assert active(store) == {}


def test_an_activated_template_is_in_force_in_place_of_the_one_before(
    templates: TemplateStore, store: Store
) -> None:
    first, second = make(templates), make(templates, "second", BETTER)
    other = make(templates, operation=TIME, body='{"time_entry": {}}')
    for one in (first, other, second):
        templates.activate(one.id, "anna")
    assert active(store)[ISSUE] == ("second", 1, BETTER)
    assert active(store)[TIME][0] == "first"
    assert [change.what for change in templates.history(first.id)] == ["deactivated", "activated", "saved"]


def test_a_deactivated_template_leaves_the_operation_to_the_standard_body(
    templates: TemplateStore, store: Store
) -> None:
    made = make(templates)
    templates.activate(made.id, "anna")
    assert templates.deactivate(made.id, "bert").active_version is None
    assert active(store) == {}
    with pytest.raises(TemplateRefused, check=says(TemplateRefusal.TEMPLATE_NOT_ACTIVE)):
        templates.deactivate(made.id, "bert")


def test_the_database_refuses_two_active_templates_of_an_operation(
    templates: TemplateStore, store: Store
) -> None:
    make(templates), make(templates, "second")
    with pytest.raises(IntegrityError), store.database.transaction() as session:
        session.execute(update(PayloadTemplate).values(active_version=1))


def test_of_templates_activated_at_the_same_moment_one_is_in_force(
    templates: TemplateStore, store: Store
) -> None:
    made = [make(templates, f"number {number}") for number in range(8)]

    def activate(one: Template) -> bool:
        try:
            templates.activate(one.id, "anna")
        except BridgeError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert any(pool.map(activate, made))
    assert len([one for one in templates.list() if one.active_version]) == 1


def test_of_templates_put_back_in_force_at_the_same_moment_one_is_and_the_others_are_told_why(
    templates: TemplateStore, store: Store
) -> None:
    made = [make(templates, f"number {number}") for number in range(6)]
    for one in made:
        templates.activate(one.id, "anna")
    templates.deactivate(made[-1].id, "anna")

    def roll_back(one: Template) -> str:
        try:
            templates.roll_back(one.id, "anna")
        except TemplateRefused as refused:
            return str(refused.notice.code)
        return ""

    with ThreadPoolExecutor(6) as pool:
        told = set(pool.map(roll_back, made))
    assert told <= {"", TemplateRefusal.TEMPLATE_ACTIVATED_MEANWHILE}
    assert len([one for one in templates.list() if one.active_version]) == 1


def test_what_is_deleted_while_it_is_listed_spoils_no_list(templates: TemplateStore) -> None:
    def come_and_go(number: int) -> None:
        for turn in range(10):
            templates.delete(make(templates, f"number {number}.{turn}").id)

    make(templates)
    with ThreadPoolExecutor(4) as pool:
        going = [pool.submit(come_and_go, number) for number in range(3)]
        while not all(one.done() for one in going):
            assert "first" in [one.name for one in templates.list()]
    assert [one.result() for one in going] == [None] * 3


def test_an_edit_returns_its_own_version_whatever_comes_after_it(templates: TemplateStore) -> None:
    made = make(templates)
    wrote = templates.edit

    def edit(number: int) -> tuple[str, str]:
        while True:
            try:
                body = f'{{"issue": {{"subject": "{number}"}}}}'
                return body, wrote(made.id, body, "anna", based_on=templates.show(made.id).version).body
            except EditedMeanwhile:
                continue

    with ThreadPoolExecutor(4) as pool:
        assert all(body == kept for body, kept in pool.map(edit, range(12)))


def test_an_edit_waits_until_it_is_activated(templates: TemplateStore, store: Store) -> None:
    made = make(templates)
    templates.activate(made.id, "anna")
    edited = templates.edit(made.id, BETTER, "bert", based_on=1)
    assert (edited.version, edited.active_version, edited.body, edited.changed_by) == (2, 1, BETTER, "bert")
    assert active(store)[ISSUE] == ("first", 1, GOOD)
    templates.activate(made.id, "bert")
    assert active(store)[ISSUE] == ("first", 2, BETTER)


def test_of_two_edits_of_the_same_version_the_second_is_refused(templates: TemplateStore) -> None:
    made = make(templates)
    templates.edit(made.id, BETTER, "anna", based_on=1)
    with pytest.raises(EditedMeanwhile, check=says(TemplateRefusal.TEMPLATE_CONFLICT, version=2, based_on=1)):
        templates.edit(made.id, GOOD, "bert", based_on=1)
    assert templates.show(made.id).body == BETTER


def test_of_edits_at_the_same_moment_one_is_kept(templates: TemplateStore) -> None:
    made = make(templates)

    def edit(number: int) -> bool:
        try:
            templates.edit(made.id, GOOD + " " * number, "anna", based_on=1)
        except EditedMeanwhile:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(edit, range(8))) == 1
    assert templates.show(made.id).version == 2


def test_a_faulty_text_is_kept_as_a_draft_and_never_in_force(templates: TemplateStore, store: Store) -> None:
    made = make(templates)
    templates.activate(made.id, "anna")
    draft = templates.edit(made.id, FAULTY, "anna", based_on=1)
    assert draft.fault is not None
    assert (draft.fault.line, draft.fault.column) == (2, 18)
    with pytest.raises(TemplateError, match=r"did you mean ticket\.title"):
        templates.activate(made.id, "anna")
    assert active(store)[ISSUE] == ("first", 1, GOOD)


def test_roll_back_puts_the_version_before_in_force_again(templates: TemplateStore, store: Store) -> None:
    made = make(templates)
    templates.activate(made.id, "anna")
    templates.edit(made.id, BETTER, "anna", based_on=1)
    templates.activate(made.id, "anna")
    assert templates.roll_back(made.id, "bert").active_version == 1
    assert active(store)[ISSUE] == ("first", 1, GOOD)
    newest = templates.history(made.id)[0]
    assert (newest.what, newest.version, newest.who) == ("rolled back", 1, "bert")
    assert templates.roll_back(made.id, "bert", version=2).active_version == 2


def test_nothing_can_be_rolled_back_that_was_never_in_force(templates: TemplateStore) -> None:
    made = make(templates)
    with pytest.raises(NotFound, check=says(Refusal.NO_VERSION_BEFORE)):
        templates.roll_back(made.id, "anna")
    with pytest.raises(NotFound, check=says(Refusal.TEMPLATE_VERSION_UNKNOWN, version=7, newest=1)):
        templates.roll_back(made.id, "anna", version=7)


def test_what_is_active_cannot_be_deleted(templates: TemplateStore) -> None:
    made = make(templates)
    templates.activate(made.id, "anna")
    with pytest.raises(TemplateRefused, check=says(TemplateRefusal.TEMPLATE_IS_ACTIVE)):
        templates.delete(made.id)
    templates.deactivate(made.id, "anna")
    templates.delete(made.id)
    assert templates.list() == []
    with pytest.raises(NotFound, check=says(Refusal.TEMPLATE_UNKNOWN)):
        templates.show(made.id)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        (" ", GOOD, "name"),
        ("x" * 101, GOOD, "name"),
        ("first", GOOD, "name"),
        ("a\x00", GOOD, "name"),
        ("other", "\ud800", "body"),
        ("other", "\x00", "body"),
        ("other", "x" * 70_000, "body"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_field(
    templates: TemplateStore, name: str, body: str, field: str
) -> None:
    make(templates)
    with pytest.raises(TemplateRefused) as refused:
        make(templates, name, body)
    assert [one for one, _ in refused.value.faults] == [field]
    assert len(templates.list()) == 1


def test_an_unknown_operation_is_refused_with_those_there_are(templates: TemplateStore) -> None:
    with pytest.raises(NotFound, check=says(Refusal.OPERATION_UNKNOWN, operation="issue.delete")):
        templates.create("issue.delete", "a", GOOD, "anna")
    with pytest.raises(NotFound, check=says(Refusal.OPERATION_UNKNOWN, operation="issue.delete")):
        templates.list("issue.delete")


def test_the_list_is_by_operation_and_name(templates: TemplateStore) -> None:
    make(templates, operation=TIME), make(templates, "b"), make(templates, "a")
    assert [(one.operation, one.name) for one in templates.list()] == [
        (ISSUE, "a"), (ISSUE, "b"), (TIME, "first"),
    ]  # fmt: skip
    assert [one.operation for one in templates.list(TIME)] == [TIME]
