"""`systemd install`: which files it writes, with which owners, and what it leaves alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from producer.admin.units import installation
from producer.admin.units.installation import CannotInstall, install, planned
from producer.cli.main import app
from shared.notices.system_refusals import SystemRefusal
from tests.support.refusals import says
from worker.health import LOOK_S

UNITS = (
    "producer.service",
    "worker@.service",
    "beat.service",
    "console.service",
    "migrate.service",
)


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A venv with deskbridge in a place that units can read; the caller counts as root."""
    made = tmp_path / "srv" / "bridge-1.0"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "deskbridge").touch()
    monkeypatch.setattr(installation, "HIDDEN", ("/home/",))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return made


def test_units_run_what_is_in_the_venv(venv: Path, tmp_path: Path) -> None:
    install(venv, tmp_path)
    units = tmp_path / "etc/systemd/system"
    for name in UNITS:
        text = (units / f"deskbridge-{name}").read_text()
        assert "/opt/deskbridge" not in text
        assert f"ExecStart={venv}/bin/deskbridge " in text
    assert (units / "deskbridge-.service.d/hardening.conf").is_file()
    command = tmp_path / "usr/local/sbin/deskbridge"
    assert f"program={venv}/bin/deskbridge" in command.read_text()
    assert os.access(command, os.X_OK)


def test_a_unit_that_fails_is_started_again_for_as_long_as_it_does(venv: Path, tmp_path: Path) -> None:
    texts = {one.path.name: one.text for one in planned(venv, tmp_path)}
    assert "\n[Unit]\n" in texts["hardening.conf"]
    assert "\nStartLimitIntervalSec=0\n" in texts["hardening.conf"]
    (delay,) = re.findall(r"^RestartSec=(\d+)$", texts["hardening.conf"], re.MULTILINE)
    assert int(delay) >= 10, "it takes no machine's time for itself"
    for name, text in texts.items():
        if name.endswith(".service") and "Type=oneshot\nLogLevelMax" not in text:
            assert "\nRestart=on-failure\n" in text, name


def test_what_holds_settings_is_its_owner_s_alone_and_never_written_again(venv: Path, tmp_path: Path) -> None:
    install(venv, tmp_path)
    folder = tmp_path / "etc/deskbridge"
    settings = [folder / "deskbridge.env", folder / "producer.env"]
    assert [path.stat().st_mode & 0o777 for path in (folder, *settings)] == [0o700, 0o600, 0o600]
    settings[0].write_text("WORKER_CONCURRENCY=3\n")
    unit = tmp_path / "etc/systemd/system/deskbridge-beat.service"
    unit.write_text("of a version before")
    written = install(venv, tmp_path)
    assert settings[0].read_text() == "WORKER_CONCURRENCY=3\n"
    assert unit in written
    assert "before" not in unit.read_text()


def test_only_the_worker_s_side_is_handed_the_keys(venv: Path, tmp_path: Path) -> None:
    texts = {one.path.name: one.text for one in planned(venv, tmp_path) if one.path.suffix == ".service"}
    assert "User=deskbridge-in\n" in texts["deskbridge-producer.service"]
    assert not [
        name
        for name in ("producer", "beat", "migrate")
        if "secret-keys" in texts[f"deskbridge-{name}.service"]
    ]
    keys = {str(one.path.parent.name) for one in planned(venv, tmp_path) if one.path.name == "keys.conf"}
    assert keys == {f"deskbridge-{name}.service.d" for name in ("worker@", "console", "command-")}


def test_nobody_but_root_installs_units(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotInstall, check=says(SystemRefusal.UNITS_NEED_ROOT)):
        install(venv, tmp_path)
    assert not (tmp_path / "etc").exists()


def test_a_dry_run_shows_every_file_and_writes_none(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(*_: object, **__: object) -> None:
        raise AssertionError("something was written or run")

    monkeypatch.setattr(installation, "this_venv", lambda: venv)
    for what in ("write_text", "mkdir", "chmod"):
        monkeypatch.setattr(Path, what, written)
    monkeypatch.setattr(subprocess, "run", written)
    result = CliRunner().invoke(app, ["systemd", "install", "--dry-run"])
    assert result.exit_code == 0, result.output
    for name in UNITS:
        assert f"# /etc/systemd/system/deskbridge-{name}\n" in result.stdout
    assert f"ExecStart={venv}/bin/deskbridge beat\n" in result.stdout


@pytest.mark.parametrize("name", ["with space", "per%cent", 'quo"te', "dollar$"])
def test_a_path_that_a_unit_would_read_otherwise_is_refused(venv: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotInstall, check=says(SystemRefusal.UNITS_NO_VENV)):
        planned(venv.rename(venv.with_name(name)), tmp_path)


def test_a_venv_that_units_do_not_see_is_refused(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "HIDDEN", (f"{tmp_path}/",))
    with pytest.raises(CannotInstall, check=says(SystemRefusal.UNITS_NOT_SEEN)):
        planned(venv, tmp_path)


def test_beside_the_package_nothing_is_written(venv: Path, tmp_path: Path) -> None:
    target = tmp_path / "usr/lib/systemd/system/deskbridge.target"
    target.parent.mkdir(parents=True)
    target.touch()
    with pytest.raises(CannotInstall, check=says(SystemRefusal.UNITS_ARE_PACKAGED)):
        install(venv, tmp_path)
    assert not (tmp_path / "etc").exists()


def test_where_systemd_does_not_run_nothing_is_written(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(*_: object, **__: object) -> None:
        raise AssertionError("something was written")

    monkeypatch.setattr(installation, "RUNNING", tmp_path / "none")
    for what in ("write_text", "mkdir", "chmod"):
        monkeypatch.setattr(Path, what, written)
    with pytest.raises(CannotInstall, check=says(SystemRefusal.UNITS_NEED_SYSTEMD)):
        install(venv)


@pytest.mark.promise("SEC-70")
def test_no_unit_runs_as_root_or_in_a_shell(venv: Path, tmp_path: Path) -> None:
    """Otherwise files that another account can write could decide what root does."""
    found = {str(one.path.relative_to(tmp_path)): one.text for one in planned(venv, tmp_path)}
    services = {name: text for name, text in found.items() if name.endswith(".service")}
    assert len(services) == len(UNITS)
    for name, text in services.items():
        own = [text, *(more for drop_in, more in found.items() if drop_in.startswith(f"{name}.d/"))]
        users = re.findall(r"(?m)^User=(.*)$", "\n".join(own))
        assert users in (["deskbridge"], ["deskbridge-in"]), name
        assert re.findall(r"(?m)^Exec\w+=(.*)$", text)[0].startswith(f"{venv}/bin/deskbridge "), name
        assert "/sh " not in text, name


@pytest.mark.parametrize("name", ["worker@", "beat"])
def test_systemd_restarts_one_that_no_longer_says_that_it_lives(
    venv: Path, tmp_path: Path, name: str
) -> None:
    install(venv, tmp_path)
    unit = (tmp_path / f"etc/systemd/system/deskbridge-{name}.service").read_text()
    (seconds,) = re.findall(r"(?m)^WatchdogSec=(\d+)$", unit)
    assert int(seconds) >= 4 * LOOK_S, "three may be late"
    assert "Type=notify\n" in unit
