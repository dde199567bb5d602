"""`make run`: deskbridge on this machine, with the sample events and the result of each."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from deploy.embedded.forward import Forwarding, Glpi, Helpdesk, Tracker
from deploy.embedded.outcome import Judge
from deploy.embedded.show import Screen
from deploy.embedded.stack import Stack
from deploy.embedded.workplace import ROOT, Workplace
from deploy.sandbox.samples import Samples, load_samples

LIVE_S = 0.5
ACCOUNT = "admin"
ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal other than Ctrl-C asks this process to end. Not an Exception, so that no handler catches it.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def run(workplace: Workplace, screen: Screen, *, once: bool) -> bool:
    """Start everything, send the samples, show the results, and keep running.

    Args:
        workplace: directory of all data.
        screen: output to the user.
        once: whether to end after the table.

    Returns:
        Whether every event ended as expected.

    Raises:
        EmbeddedError: if another process runs here, or a process did not start or has died.
        KeyboardInterrupt, Ended: if interrupted before the table was shown; all processes are stopped.
    """
    samples = load_samples()
    with _ended_by_signals(), workplace, Stack(workplace, screen.starting) as stack:
        with screen.busy():
            stack.start(samples.installation)
            known = set(stack.administration.journal(samples.by_ticket))
            forwarding = _forwarding(stack, samples, screen)
            forwarding.prepare()
            stack.start_workers()
            screen.started()
            delivered = forwarding.run()
        tracker = Tracker(stack.tracker_url, workplace.tracker_key())
        outcomes = Judge(samples, stack.administration, tracker.state()).outcomes(delivered)
        again = all(one is not None and one.event_id in known for one in delivered)
        screen.table(outcomes, workplace.directory, again=again)
        if not once:
            _stay_up(stack, screen)
        return all(outcome.as_expected for outcome in outcomes)


def _forwarding(stack: Stack, samples: Samples, screen: Screen) -> Forwarding:
    return Forwarding(
        samples,
        Helpdesk(
            stack.producer_url,
            stack.workplace.webhook_secret(),
            Glpi(stack.workplace.glpi_secret(), stack.workplace.glpi_stamp()),
        ),
        Tracker(stack.tracker_url, stack.workplace.tracker_key()),
        stack.administration,
        stack.check,
        screen.forwarding,
    )


def _stay_up(stack: Stack, screen: Screen) -> None:
    """Show the journal's counts until Ctrl-C or another signal, which is the normal end."""
    with screen.busy():
        stack.start_console()
    _show_where(stack, screen)
    try:
        with screen.live() as line:
            while True:
                stack.check()
                line.update(stack.administration.counts())
                time.sleep(LIVE_S)
    except (KeyboardInterrupt, Ended):
        screen.say("Stopping; the data stay for the next start.")


def _show_where(stack: Stack, screen: Screen) -> None:
    directory, env_file = stack.workplace.directory, stack.workplace.env_file
    command = ROOT / ".venv" / "bin" / "deskbridge"
    addresses = {
        "Producer": f"{stack.producer_url}/events",
        "Console": f"{stack.console_url}/console",
        "  signs you in once": f"{stack.console_url}/console/sign-in?code={stack.administration.sign_in_code(ACCOUNT)}",
        "API": f"{stack.console_url}/api/openapi.json (the token: {directory}/console-token)",
        "Mock Redmine": f"{stack.tracker_url} (what it holds: /_control/state?key=…, the key: {directory}/redmine-key)",
        "Data, logs, secrets": str(directory),
    }
    commands = [f". {env_file}", f"{command} event list", f"{command} ticket history 4711"]
    screen.where(addresses, commands)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Ended`, so that they also stop the children in order."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    # Signals that `nohup` ignores stay ignored.
    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    # a shell disables Ctrl-C for background processes, but it is the way to end this one
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
