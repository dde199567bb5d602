"""nginx with the shipped configuration, at addresses of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST, free_port, is_free
from tests.support.documents import instead
from tests.support.fleet import ROOT

SHIPPED = ROOT / "deploy" / "nginx"
HOOKS, CONSOLE = "hooks.deskbridge.example.org", "deskbridge.example.org"


class Nginx:
    """Producers and consoles behind one address.

    Args:
        program: path of nginx.
        directory: folder for configuration, certificate and logs.
        producers: ports of the producers.
        consoles: ports of the consoles.
    """

    def __init__(
        self, program: Path, directory: Path, producers: Sequence[int], consoles: Sequence[int]
    ) -> None:
        self.directory = directory
        self.port, self.plain_port = free_port(), free_port()
        self.certificate = directory / "fullchain.pem"
        directory.mkdir()
        self._write(producers, consoles)
        command: list[str | Path] = [
            program,
            "-c",
            directory / "nginx.conf",
            "-p",
            directory,
            "-e",
            directory / "error.log",
        ]
        self.child = Child("nginx", command, log=directory / "nginx.log")

    @property
    def url(self) -> str:
        """Its address; requests for unknown host names go to the producers."""
        return f"https://{HOST}:{self.port}"

    def start(self) -> None:
        """Start nginx; return once it listens."""
        self.child.start()
        self.child.wait_ready(lambda: not is_free(self.port))

    def _write(self, producers: Sequence[int], consoles: Sequence[int]) -> None:
        _certify(self.directory)
        include = self.directory / "deskbridge-producer.inc"
        include.write_text((SHIPPED / include.name).read_text())
        shipped = instead(
            (SHIPPED / "deskbridge.conf").read_text(),
            ("listen 80;", f"listen {HOST}:{self.plain_port};"),
            ("listen 443 ssl;", f"listen {HOST}:{self.port} ssl;"),
            ("/etc/ssl/deskbridge", str(self.directory)),
            ("/etc/nginx/deskbridge-producer.inc", str(include)),
            *((f"10.0.0.1{at}:8080", f"{HOST}:{port}") for at, port in enumerate(producers, 1)),
            *((f"10.0.0.1{at}:8081", f"{HOST}:{port}") for at, port in enumerate(consoles, 1)),
        )
        (self.directory / "deskbridge.conf").write_text(shipped)
        places = "".join(
            f"    {name}_temp_path {self.directory}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.directory / "nginx.conf").write_text(
            f"{user}daemon off;\nworker_processes 1;\npid {self.directory}/pid;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{\n    access_log {self.directory}/access.log;\n{places}    include deskbridge.conf;\n}}\n"
        )


def _certify(directory: Path) -> None:
    """Write a self-signed certificate for loopback and the host names, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOOKS)])
    names = [x509.DNSName(HOOKS), x509.DNSName(CONSOLE), x509.IPAddress(ip_address(HOST))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    (directory / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
