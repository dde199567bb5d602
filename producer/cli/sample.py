"""Sends a test event, shows the result, and removes it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import complain, print_json, say, warn
from producer.cli.services import open_services
from shared.errors import BridgeError
from shared.notices.notice import Notice, codes_in
from shared.notices.reasons import Matching
from shared.notices.refusals import Refusal
from shared.notices.render import sentence

if TYPE_CHECKING:
    from pydantic import SecretStr

    from producer.admin.samples.events import Sample
    from producer.admin.samples.outcome import Outcome
    from producer.admin.samples.removal import Removed
    from producer.cli.services import CommandServices
    from shared.process.settings import Settings


def send_sample(
    url: str,
    secret_of: Callable[[Settings], SecretStr | None],
    *,
    entity: int | None,
    email: str | None,
    seconds: float,
    as_json: bool,
) -> None:
    """Send a sample, wait for it, show the result, and remove it and the remains of earlier ones.

    Args:
        url: the producer's address for events.
        secret_of: returns the secret to sign with.
        entity: the ticket's entity; None: one with a mapping.
        email: e-mail address of the person; None: no one.
        seconds: how long to wait.
        as_json: whether one JSON document is shown.
    """
    from producer.admin.samples import removal
    from producer.admin.samples.events import new_event, note_sent
    from producer.admin.samples.outcome import outcome_json, wait_for

    if email is not None and "@" not in email:
        raise WrongUsage(f"--email {email} is not an e-mail address")
    with open_services() as services:
        secret = secret_of(services.settings)
        before, kept = removal.remove_left_over(services)
        for failure in kept:
            warn(str(failure))
        sample = new_event(services.store, entity, email)
        with removal.sending(services, sample.id):
            event_id = _post(url, secret, sample)
            note_sent(services.store, sample)
            found = wait_for(services.store, event_id, sample.id, seconds)
            removed, failed = (
                (None, _still_waits(found, seconds)) if found.waits else _remove(services, sample.id)
            )
    is_well = found.is_as_expected and failed is None
    if as_json:
        print_json(
            {
                **outcome_json(found),
                "ok": is_well,
                "removed": [_removed_json(one) for one in [*before, *([removed] if removed else [])]],
                "left": _left_json([*([failed] if failed else []), *(one.notice for one in kept)]),
            }
        )
    else:
        _tell(sample, email, found)
        for one in [*before, *([removed] if removed else [])]:
            _tell_removed(one)
        if failed:
            complain(sentence(failed))
    if not is_well:
        raise typer.Exit(1)


def clean_up(*, as_json: bool) -> None:
    """Remove the remains of earlier samples; exit with 1 if some remain.

    Args:
        as_json: whether one JSON document is shown.
    """
    from producer.admin.samples.removal import remove_left_over

    with open_services() as services:
        removed, failed = remove_left_over(services)
    if as_json:
        print_json(
            {
                "ok": not failed,
                "removed": [_removed_json(one) for one in removed],
                "left": _left_json([one.notice for one in failed]),
            }
        )
    else:
        for one in removed:
            _tell_removed(one)
        if not removed and not failed:
            say("Nothing to clean up: no test event left anything.")
        for failure in failed:
            complain(str(failure))
    if failed:
        raise typer.Exit(1)


def _post(url: str, secret: SecretStr | None, sample: Sample) -> int:
    """Send a sample's event; return its id in the journal.

    Raises:
        NotSent: if the producer cannot be reached, or refused it.
    """
    from producer.http.sending import ProducerClient, ready_event

    sender = ProducerClient(url, secret)
    try:
        return sender.send([ready_event(sample.event)]).event_ids[0]
    finally:
        sender.close()


def _remove(services: CommandServices, sample_id: int) -> tuple[Removed | None, Notice | None]:
    """Remove a sample; return what was removed, or why it was not."""
    from producer.admin.samples.removal import remove

    try:
        return remove(services, sample_id), None
    except BridgeError as failure:
        return None, failure.notice


def _still_waits(found: Outcome, seconds: float) -> Notice:
    return Refusal.SAMPLE_WAITS(seconds=seconds, because=found.because)


def _tell(sample: Sample, email: str | None, found: Outcome) -> None:
    link = found.trace.link
    say(f"Sent a test ticket of {sample.link} (sample {sample.id}, event {found.event_id}):")
    for step in found.trace.steps:
        if step.call is None:
            say(f"  - {step.what}{f' ({step.why})' if step.why else ''}")
    if found.is_as_expected and link:
        status = found.tracker_status_id
        given = f"status {status}" if status else "Redmine's default status, because status_map is empty"
        say(
            f"As expected: issue #{link.tracker_issue_id} by {link.author or 'the API user'} with {given}, "
            f"and time entry #{found.trace.ticket_tasks[0].time_entry_id}."
        )
    elif wrong := found.wrong_author:
        is_unknown = Matching.EMAIL_UNKNOWN in codes_in(wrong)
        unknown = "no active Redmine user has this address. If one should, run `deskbridge metadata sync`"
        complain(f"the API user acted, not {email}: {unknown if is_unknown else sentence(wrong)}")
    elif not found.waits:
        complain(f"the test failed: the event is {found.state}, because {sentence(found.because)}")


def _tell_removed(one: Removed) -> None:
    there = [f"issue #{number}" for number in one.issue_ids]
    there += [f"time entry #{number}" for number in one.time_entry_ids]
    what = (
        f" {' and '.join(there)} {'was' if len(there) == 1 else 'were'} deleted in Redmine." if there else ""
    )
    say(f"Sample {one.id} was removed from deskbridge.{what}")


def _removed_json(one: Removed) -> dict[str, object]:
    return {"ticket_id": one.id, "issue_ids": one.issue_ids, "time_entry_ids": one.time_entry_ids}


def _left_json(left: list[Notice]) -> list[dict[str, object]]:
    from producer.admin.presenters.shapes import reason_json

    return [reason_json(one) for one in left]
