"""The documents as a site (`make site`), with what the code knows filled in."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
