"""The documents as a site (`make site`), and their reference (`make reference`)."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
