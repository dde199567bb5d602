"""The documentation as a site (`make site`), and its generated reference (`make reference`)."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
