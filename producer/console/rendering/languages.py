"""The languages of the pages: the user's choice, or else the browser's preference."""

from __future__ import annotations

from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files

from starlette.datastructures import Headers

from shared.notices.language import ENGLISH

NAMES = {"en": "English", "fr": "Français"}
COOKIE = "deskbridge_language"


@cache
def _catalogues() -> dict[str, NullTranslations]:
    folder = files("producer.console") / "languages"
    words: dict[str, NullTranslations] = {"en": ENGLISH}
    for name in NAMES:
        file = folder / name / "deskbridge.mo"
        if name != "en" and file.is_file():
            with file.open("rb") as content:
                words[name] = GNUTranslations(content)
    return words


class Languages:
    """The catalogues that ship with deskbridge."""

    def __init__(self) -> None:
        self._words = _catalogues()

    def names(self) -> dict[str, str]:
        """Return the available languages: code to name."""
        return {code: name for code, name in NAMES.items() if code in self._words}

    def chosen(self, choice: str | None, headers: Headers) -> NullTranslations:
        """Return the catalogue of a choice, or else of the browser's preference."""
        if choice in self._words:
            return self._words[choice]
        return self._words[self._preferred(headers.get("accept-language", ""))]

    def _preferred(self, accepted: str) -> str:
        wanted: list[tuple[float, str]] = []
        for one in accepted[:200].split(","):
            code, _, quality = one.strip().partition(";q=")
            try:
                wanted.append((-float(quality or 1), code.partition("-")[0].lower()))
            except ValueError:
                continue
        return next((code for _, code in sorted(wanted, key=lambda one: one[0]) if code in self._words), "en")
