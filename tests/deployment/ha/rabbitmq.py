"""RabbitMQ from Debian's packages, unpacked but not installed."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path
from typing import Any

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST, free_port
from tests.support.waiting import until

ERLANG = (
    "base", "asn1", "crypto", "eldap", "ftp", "inets", "mnesia", "os-mon", "parsetools", "public-key",
    "runtime-tools", "snmp", "ssl", "syntax-tools", "tftp", "tools", "xmerl",
)  # fmt: skip
PACKAGES = ("rabbitmq-server", *(f"erlang-{name}" for name in ERLANG))
VHOST = "deskbridge"
READY_WITHIN_S = 300


class RabbitMQ:
    """One node with a virtual host in which queues are quorum queues unless declared otherwise.

    Args:
        unpacked: folder of the unpacked packages.
        directory: folder for data and logs.
    """

    def __init__(self, unpacked: Path, directory: Path) -> None:
        directory.mkdir()
        self.port = free_port()
        epmd, erlang = free_port(), unpacked / "usr" / "lib" / "erlang"
        _make_movable(erlang)
        (self._programs,) = (unpacked / "usr" / "lib" / "rabbitmq" / "lib").glob("*/sbin")
        configuration = directory / "rabbitmq.conf"
        configuration.write_text(f"listeners.tcp.1 = {HOST}:{self.port}\n")
        cookie = directory / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(10))
        cookie.chmod(0o400)
        self._env = {
            "PATH": f"{erlang}/bin:{os.environ['PATH']}",
            "HOME": str(directory),
            "LD_LIBRARY_PATH": str(unpacked / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"),
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": "deskbridge@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(directory / "data"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(configuration),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        names: list[str | Path] = [erlang / "bin" / "epmd", "-port", str(epmd), "-address", HOST]
        self._names = Child("epmd", names, log=directory / "epmd.log", env=self._env)
        self.log = directory / "rabbitmq.log"
        self._node = Child("rabbitmq", [self._programs / "rabbitmq-server"], log=self.log, env=self._env)

    @property
    def url(self) -> str:
        """Its address, in the form of BROKER_URL."""
        return f"amqp://guest:guest@{HOST}:{self.port}/{VHOST}"

    def start(self) -> None:
        """Start the node for the first time, and create the virtual host."""
        self._names.start()
        self._launch()
        self.tell("add_vhost", VHOST)
        self.tell("set_permissions", "-p", VHOST, "guest", ".*", ".*", ".*")

    def restart(self) -> None:
        """Kill the node, and start it again on the same data."""
        self._node.kill()
        self._launch()

    def stop(self) -> None:
        """Kill the node and its name server."""
        self._node.kill()
        self._names.kill()

    def tell(self, *command: str) -> str:
        """Run a command of rabbitmqctl; return its output."""
        ended = subprocess.run(
            [self._programs / "rabbitmqctl", "--quiet", *command],
            env=self._env, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def queues(self) -> dict[str, str]:
        """Return the type of each queue, by its name."""
        lines = self.tell("list_queues", "-p", VHOST, "name", "type", "--no-table-headers").splitlines()
        return dict(line.split("\t") for line in lines)

    def _launch(self) -> None:
        said = self.log.stat().st_size if self.log.exists() else 0
        self._node.start()

        def answers() -> Any:
            assert self._node.alive, self._node.death_notice()
            return "Server startup complete" in self.log.read_text(errors="replace")[said:]

        until(answers, "RabbitMQ does not answer", READY_WITHIN_S)


def _make_movable(erlang: Path) -> None:
    """Make Erlang's starter use the folder of the unpacked packages; it contains the path of an installation."""
    starter = erlang / "bin" / "erl"
    starter.write_text(starter.read_text().replace("=/usr/lib/erlang\n", f"={erlang}\n"))
