"""The only custom build step: compile the pages' translations, which the repository keeps only as `.po`."""

from __future__ import annotations

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.build_py import build_py

LANGUAGES = Path(__file__).parent / "producer" / "console" / "languages"


def compile_languages() -> None:
    """Write each language's `.mo` next to its `.po`."""
    for source in LANGUAGES.glob("*/deskbridge.po"):
        with source.open("rb") as file:
            catalogue = read_po(file, locale=source.parent.name)
        with source.with_suffix(".mo").open("wb") as file:
            write_mo(file, catalogue)


class BuildWithLanguages(build_py):
    """Compile the languages before the packages' files are listed."""

    def run(self) -> None:
        """Compile, then build as usual."""
        compile_languages()
        super().run()


if __name__ in ("__main__", "builtins"):
    setup(cmdclass={"build_py": BuildWithLanguages})
