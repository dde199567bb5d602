"""The package and its units on a machine whose first process is systemd, from installation to purge."""

from __future__ import annotations

import json
import platform
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.deployment.conftest import ROOT, leave_out, run
from tests.support.documents import documented, instead
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket
from tests.support.waiting import until

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(600)]

NAME = "deskbridge-machine"
RELEASE = "12"
"""The machine's Debian release: a package is for the release on which it was built."""

SERVICES = ("producer", "worker@1", "beat", "console")
PROGRAM = "/opt/deskbridge/bin/deskbridge"
PUT = "/root/deskbridge.deb"
MOST_EXPOSED = 20
"""Highest exposure, of 100, as `systemd-analyze security` rates it."""

GRACE_S = 40
WATCHED_S = 30
"""Seconds that a process may stay silent (WatchdogSec)."""
START = "systemctl enable --now deskbridge.target\n"
PREPARE, LOOK = instead(
    documented("how-to/install-systemd.md#set-it-up"),
    ("deskbridge LOGIN PASSWORD '…'", "deskbridge LOGIN PASSWORD 'owner'"),
    ("deskbridge_producer LOGIN PASSWORD '…'", "deskbridge_producer LOGIN PASSWORD 'appender'"),
    ("deskbridge:…@", "deskbridge:owner@"),
    ("deskbridge_producer:…@", "deskbridge_producer:appender@"),
).split(START)
"""The commands that a page has an administrator type before everything is started, and after that."""

BY_HAND = PREPARE + instead(
    documented("how-to/connect-redmine.md#address-and-key")
    + documented("how-to/connect-redmine.md#defaults")
    + documented("how-to/connect-redmine.md#map-entities-and-projects"),
    ("https://redmine.example.org", "http://127.0.0.1:3000"),
    ("< key.txt", "< /root/key.txt"),
    ("entity 3 12", f"entity {SUPPORT_ENTITY} 1"),
)

QUICK = "echo DESKBRIDGE_SWEEP_INTERVAL=1 >> /etc/deskbridge/deskbridge.env"
ENTRIES = f"""
import urllib.request as u
asked = u.Request("http://127.0.0.1:3000/time_entries.json?limit=1", headers={{"X-Redmine-API-Key": "{DEFAULT_KEY}"}})
print(u.urlopen(asked).read().decode())
"""


READY = """
at=http://127.0.0.1
asked="import urllib.request as u; [u.urlopen(f'$at:{port}/readyz', timeout=4) for port in (8080, 8081)]"
for _ in $(seq 600); do
  /usr/bin/python3 -c "$asked" 2> /dev/null &&
    systemctl -q is-active deskbridge-worker@1 deskbridge-beat && exit
  sleep .2
done
exit 1
"""


class Machine:
    """A machine with systemd, PostgreSQL, Redis and the mock Redmine; its only network is its loopback.

    Args:
        environment: variables to reach the Docker engine.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def docker(self, *arguments: str | Path, given: str = "") -> str:
        """Run docker; return its output."""
        return run(self.environment, "docker", *arguments, given=given)

    def sh(self, script: str, given: str = "") -> str:
        """Run a shell script as root, up to its first failure; return its output."""
        return self.docker("exec", "-i", NAME, "sh", "-ec", script, given=given)

    def code(self, script: str) -> tuple[int, str]:
        """Run a script; return its exit code, and its output on both channels."""
        *said, code = self.sh(f"set +e; ({script}) 2>&1; code=$?; echo; echo $code").splitlines()
        return int(code), "\n".join(said)

    def shown(self, service: str, *properties: str) -> list[str]:
        """Return properties of one of our services, in the order of their names."""
        asked = " ".join(f"-p {one}" for one in properties)
        told = dict(
            line.split("=", 1) for line in self.sh(f"systemctl show {asked} {unit(service)}").splitlines()
        )
        return [told[one] for one in properties]

    def install(self, package: Path) -> str:
        """Install a package without questions; return the output."""
        self.docker("cp", package, f"{NAME}:{PUT}")
        _, install = documented("how-to/install-systemd.md#by-the-package").splitlines()
        unattended = ("apt install", "DEBIAN_FRONTEND=noninteractive apt-get -q install -y < /dev/null")
        return self.sh(instead(install, unattended, ("./dist/deskbridge_*.deb", PUT)))

    def start(self) -> None:
        """Start everything, and wait until it works."""
        self.sh(START)
        self.becomes_whole()

    def becomes_whole(self) -> None:
        """Wait until every process reports that it works."""
        # waits on the machine with a small script of its own, which takes little from the starting processes
        self.sh(READY)
        until(self.is_whole, self.log, 150)

    def is_whole(self) -> bool:
        """Return whether the doctor reports every process as running."""
        _, told = self.code("deskbridge doctor --json")
        try:
            found = {one["check"]: one["status"] for one in json.loads(told)}
        except (ValueError, KeyError):
            return False
        return all(
            found.get(name) == "ok" for name in ("database", "redis", "worker", "beat", "console", "producer")
        )

    def send(self, *numbers: int) -> None:
        """Send the event of a finished ticket task for each of these numbers."""
        events = [task_event(of_ticket=ticket(4000 + one), of_task=task(5000 + one)) for one in numbers]
        self.sh("deskbridge event send -", given="\n".join(json.dumps(one) for one in events))

    def logged(self) -> int:
        """Return the number of time entries in the tracker."""
        found: int = json.loads(self.sh(f"/usr/bin/python3 -c '{ENTRIES}'"))["total_count"]
        return found

    def log(self) -> str:
        """Return the last lines of the units' log."""
        return self.sh("journalctl --no-pager -n 60 -u 'deskbridge*'")


def unit(service: str) -> str:
    return f"deskbridge-{service}.service"


@pytest.fixture(scope="module")
def package(docker: dict[str, str], wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of this tree; skips if this machine cannot build it."""
    if not shutil.which("dpkg-deb") or platform.freedesktop_os_release().get("VERSION_ID") != RELEASE:
        leave_out(f"a package for Debian {RELEASE} is built on Debian {RELEASE}")
    assert wheel.exists()
    made, _ = documented("how-to/install-systemd.md#by-the-package").splitlines()
    run(docker, "/bin/sh", "-ec", instead(made, ("make deb", "/usr/bin/make -o wheel deb")))
    (built,) = (ROOT / "dist").glob("deskbridge_*.deb")
    return Path(shutil.copy(built, tmp_path_factory.mktemp("package")))


@pytest.fixture(scope="module")
def machine(docker: dict[str, str], standin: str) -> Iterator[Machine]:
    """A machine on which nothing of deskbridge is installed."""
    made = Machine(docker)
    # the rights that systemd needs from the kernel; SYS_RESOURCE is not available everywhere
    rights = ("--cap-add=ALL", "--cap-drop=SYS_RESOURCE", "--cgroupns=private", "--env=container=docker")
    unmasked = ("--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined")
    files = ("--tmpfs=/run", "--tmpfs=/tmp", f"--volume={ROOT}/deploy:/src/deploy:ro")
    # systemd in a container passes credentials on only if /run is shared
    first = ("--entrypoint=sh", standin, "-c", "mount --make-rshared / && exec /sbin/init")
    made.docker("run", "-d", "--rm", "--name", NAME, "--network=none", *rights, *unmasked, *files, *first)
    try:
        until(lambda: made.code("pg_isready && redis-cli ping")[0] == 0, made.log, 180)
        made.sh("redis-cli config set appendonly yes")  # as the page says
        tracker = "python3 -m deploy.sandbox.tracker --host 127.0.0.1 --port 3000"
        made.sh(f"systemd-run --quiet --unit=tracker --working-directory=/src {tracker}")
        yield made
    finally:
        made.docker("rm", "-f", NAME)


@pytest.fixture(scope="module")
def installed(machine: Machine, package: Path) -> Machine:
    """The machine with the package installed, but without the address of its database."""
    machine.install(package)
    return machine


@pytest.fixture(scope="module")
def running(installed: Machine) -> Machine:
    """The machine with deskbridge configured and running."""
    installed.sh("cat > /root/key.txt", given=DEFAULT_KEY)
    installed.sh(f"{QUICK}\n{BY_HAND}")
    installed.start()
    return installed


def test_the_package_holds_what_it_should_and_belongs_to_root(package: Path, docker: dict[str, str]) -> None:
    rows = [line.split(maxsplit=5) for line in run(docker, "dpkg-deb", "-c", package).splitlines()]
    assert {row[1] for row in rows} == {"root/root"}
    modes = {row[5].partition(" -> ")[0].removeprefix("."): row[0] for row in rows}
    assert not [name for name, mode in modes.items() if mode[0] != "l" and ("s" in mode or mode[8] == "w")]
    places = (
        *("/opt/deskbridge/", "/etc/deskbridge/", "/usr/sbin/deskbridge", "/usr/share/doc/deskbridge/"),
        *("/usr/lib/systemd/system/", "/usr/lib/sysusers.d/", "/usr/share/deskbridge/"),
    )
    assert not [name for name in modes if name[-1] != "/" and not name.startswith(places)]
    assert {mode for name, mode in modes.items() if name.startswith("/etc/deskbridge/")} == {
        "drwx------",
        "-rw-------",
    }
    fields = run(docker, "dpkg-deb", "-f", package)
    assert "Depends: python3 (>= 3.11), python3 (<< 3.12)," in fields
    assert f"+deb{RELEASE}\n" in fields
    assert not [name for name in modes if re.search(r"/(pip|setuptools|tests)/", name)], (
        "nothing to build with"
    )


def test_the_units_are_well_formed_and_shut_in(installed: Machine) -> None:
    names = " ".join(f"/usr/lib/systemd/system/deskbridge*.{kind}" for kind in ("target", "service"))
    code, said = installed.code(f"systemd-analyze verify {names}")
    assert (code, said.strip()) == (0, "")
    for service in (*SERVICES, "migrate"):
        file = f"/usr/lib/systemd/system/{unit(service).replace('@1', '@')}"
        code, said = installed.code(
            f"systemd-analyze security --threshold={MOST_EXPOSED} --offline=true {file}"
        )
        assert code == 0, said


def test_nothing_is_started_before_it_is_configured(installed: Machine) -> None:
    for service in (*SERVICES, "migrate"):
        assert installed.shown(service, "ActiveState", "NRestarts") == ["inactive", "0"]
        code, said = installed.code(f"systemctl start {unit(service)}")
        assert code == 1
        assert "Assertion failed" in said
    code, said = installed.code("deskbridge doctor")
    assert code == 1
    assert "/etc/deskbridge/database-url is missing" in said


def test_a_sample_leaves_nothing_and_an_event_becomes_a_time_entry(running: Machine) -> None:
    assert "As expected: issue #" in running.sh(LOOK)
    assert running.logged() == 0
    running.send(1)
    until(lambda: running.logged() == 1, running.log, 180)


@pytest.mark.parametrize("service", SERVICES)
def test_a_process_may_do_nothing_but_its_work(running: Machine, service: str) -> None:
    (process,) = running.shown(service, "MainPID")
    status = running.sh(f"cat /proc/{process}/status; id -u deskbridge-in; id -u deskbridge")
    of_producer, of_others = status.split()[-2:]
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["Uid"].split() == [of_producer if service == "producer" else of_others] * 4
    assert [facts[name] for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")] == [
        "0" * 16,
        "0" * 16,
        "1",
        "2",
    ]
    environment = running.sh(f"tr '\\0' '\\n' < /proc/{process}/environ")
    assert not re.search(r"owner|appender|whsec_", environment), "no secret in the environment"


def test_the_producer_s_account_reads_no_secret_of_the_others(running: Machine) -> None:
    (process,) = running.shown("worker@1", "MainPID")
    held = f"/run/credentials/{unit('worker@1')}/secret-keys"
    assert running.code(f"test -s {held}")[0] == 0
    for path in (
        "/etc/deskbridge/secret-keys",
        "/etc/deskbridge/database-url",
        held,
        f"/proc/{process}/environ",
    ):
        code, said = running.code(f"runuser -u deskbridge-in -- cat {path}")
        assert code == 1, path
        assert "Permission denied" in said
    assert "secret-keys" not in running.sh(f"ls /run/credentials/{unit('producer')}")


def test_a_worker_that_is_killed_is_started_again(running: Machine) -> None:
    (process,) = running.shown("worker@1", "MainPID")
    running.sh(f"kill -9 {process}")
    until(lambda: running.shown("worker@1", "ActiveState", "NRestarts") == ["active", "1"], running.log, 180)
    running.send(2)
    until(lambda: running.logged() == 2, running.log, 180)


@pytest.mark.parametrize("service", ["worker@1", "beat"])
def test_one_that_stands_still_is_started_again(running: Machine, service: str) -> None:
    (process,) = running.shown(service, "MainPID")
    time.sleep(WATCHED_S + 5)
    assert running.shown(service, "MainPID") == [process], "one that works is left alone"
    running.sh(f"kill -STOP {process}")
    until(lambda: running.shown(service, "MainPID", "ActiveState")[0] not in ("0", process), running.log, 180)


def test_more_workers_are_a_matter_of_a_command(running: Machine) -> None:
    running.sh(f"systemctl enable --now {unit('worker@2')}")
    until(lambda: running.shown("worker@2", "ActiveState") == ["active"], running.log, 180)
    running.send(*range(3, 13))
    until(lambda: running.logged() == 12, running.log, 180)


def test_everything_ends_when_it_is_told_to_within_its_time(running: Machine) -> None:
    units = " ".join(unit(one) for one in (*SERVICES, "worker@2"))
    started = time.monotonic()
    running.sh(f"systemctl stop {units}")
    assert time.monotonic() - started < GRACE_S
    for service in SERVICES:
        told = running.shown(service, "ActiveState", "Result", "ExecMainCode", "ExecMainStatus")
        assert told == ["inactive", "success", "1", "0"], f"{service}: exited, 0"
    running.start()


def test_an_upgrade_keeps_settings_and_data_and_what_ran(
    running: Machine, package: Path, tmp_path: Path
) -> None:
    newer = _newer(package, tmp_path, running.environment)
    before = running.sh("cat /etc/deskbridge/*")
    running.install(newer)
    assert running.sh("dpkg-query -W -f '${Version}' deskbridge").startswith("9")
    assert running.sh("cat /etc/deskbridge/*") == before
    assert running.sh("systemctl is-active deskbridge.target deskbridge-worker@2").split() == ["active"] * 2
    running.becomes_whole()
    running.send(2, 20)
    until(lambda: running.logged() == 13, running.log, 180)


def test_a_removal_keeps_the_settings_and_a_purge_the_database_alone(running: Machine) -> None:
    running.sh("apt-get -q remove -y deskbridge < /dev/null")
    assert running.sh("test ! -e /opt/deskbridge; systemctl list-units --no-legend 'deskbridge*'") == ""
    assert running.sh("pgrep -u deskbridge,deskbridge-in || true") == ""
    assert running.code("test -s /etc/deskbridge/secret-keys")[0] == 0
    running.sh("cp -a /etc/deskbridge /root/kept; apt-get -q purge -y deskbridge < /dev/null")
    left = running.sh("find / -xdev -name '*deskbridge*' ! -path '/root/*'")
    assert left == ""
    assert (
        running.sh("su postgres -c 'psql -tA deskbridge -c \"SELECT count(*) FROM journal\"'").strip() == "13"
    )


def test_a_wheel_in_a_venv_is_set_up_by_a_command(running: Machine) -> None:
    running.sh(f"dpkg-deb --fsys-tarfile {PUT} | tar x -C / ./opt")
    code, said = running.code(f"runuser -u nobody -- {PROGRAM} systemd install")
    assert code == 1
    assert "installing units requires root; use --dry-run to preview them" in said
    show, install = documented("how-to/install-systemd.md#by-the-wheel").splitlines()
    assert f"ExecStart={PROGRAM} worker" in running.sh(f"runuser -u nobody -- {show}")
    assert running.code("test -e /etc/systemd/system/deskbridge.target")[0] == 1
    running.sh(f"cp -a /root/kept /etc/deskbridge; {install}")
    running.start()
    running.send(30)
    until(lambda: running.logged() == 14, running.log, 180)


def _newer(package: Path, directory: Path, environment: dict[str, Any]) -> Path:
    """Return the package with a higher version."""
    unpacked, made = directory / "unpacked", directory / "newer.deb"
    run(environment, "dpkg-deb", "-R", package, unpacked)
    control = unpacked / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: ", "Version: 9", control.read_text()))
    run(environment, "dpkg-deb", "--root-owner-group", "-Znone", "-b", unpacked, made)
    return made
