"""`python -m deploy.sbom FILE`: the packages that run deskbridge, as a CycloneDX bill of materials.

Only packages that are needed at run time, no development tools or embedded servers. Each component has the hashes of
its files in requirements.lock, by which pip verifies them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
VERSION = SchemaVersion.V1_6


def main() -> int:
    """Write the bill of materials to the file in the arguments; return the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m deploy.sbom FILE", file=sys.stderr)
        return 2
    # imported here: the import compiles grammars, which takes seconds
    from cyclonedx.validation.json import JsonStrictValidator

    bill = bill_of_materials()
    text = json.dumps(bill, indent=2) + "\n"
    if fault := JsonStrictValidator(VERSION).validate_str(text):
        print(f"deploy.sbom: not valid CycloneDX: {fault}", file=sys.stderr)
        return 1
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(bill['components'])} components, CycloneDX {VERSION.to_version()}")
    return 0


def bill_of_materials() -> dict[str, Any]:
    """Return the bill of the installed packages that are needed at run time."""
    bill = _everything_installed()
    needed, hashes = runtime_names(), locked_hashes()
    bill["components"] = [
        _with_hashes(one, hashes) for one in bill["components"] if canonicalize_name(one["name"]) in needed
    ]
    kept = {one["bom-ref"] for one in [*bill["components"], bill["metadata"]["component"]]}
    bill["dependencies"] = [
        {"ref": one["ref"], "dependsOn": [ref for ref in one.get("dependsOn", []) if ref in kept]}
        for one in bill["dependencies"]
        if one["ref"] in kept
    ]
    return bill


def runtime_names() -> set[str]:
    """Return the names of the run-time requirements in pyproject.toml, transitive ones included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = _applying(project["dependencies"], frozenset())
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            name, extras = one
            waiting += _applying(distribution(name).requires or (), extras)
    return {name for name, _ in seen}


def locked_hashes() -> dict[tuple[str, str], list[str]]:
    """Return the SHA-256 sums of requirements.lock by (name, version)."""
    found: dict[tuple[str, str], list[str]] = {}
    current: list[str] = []
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if start := re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?==([^ ;\\]+)", line):
            current = found.setdefault((canonicalize_name(start[1]), start[2]), [])
        current += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return found


def _applying(requirements: Iterable[str], extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """Return (name, extras) of the requirements that apply to this machine."""
    return [
        (canonicalize_name(one.name), frozenset(one.extras))
        for one in map(Requirement, requirements)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def _with_hashes(component: dict[str, Any], hashes: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    """Add the locked hashes: one for each file in which the component is distributed."""
    name = canonicalize_name(component["name"])
    files = {
        "type": "distribution",
        "url": f"https://pypi.org/project/{name}/{component['version']}/#files",
        "comment": "hashes of requirements.lock: of each of its files one",
        "hashes": [
            {"alg": "SHA-256", "content": one} for one in hashes.get((name, component["version"]), [])
        ],
    }
    return {**component, "externalReferences": [*component.get("externalReferences", []), files]}


def _everything_installed() -> dict[str, Any]:
    options = ["--pyproject", str(ROOT / "pyproject.toml"), "--sv", VERSION.to_version()]
    # the bill is changed afterwards, and validated before it is written
    options += ["--output-reproducible", "--no-validate"]
    made = subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", "environment", *options, sys.executable],
        check=True,
        capture_output=True,
        text=True,
    )
    bill: dict[str, Any] = json.loads(made.stdout)
    return bill


if __name__ == "__main__":
    sys.exit(main())
