r"""Characters that are not text, each class with the reason why it differs from the first.

All classes allow tab and line feed, unless a text must stay on one line.
"""

from __future__ import annotations

import re

NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]")
"""Control characters and lone surrogates: the tracker answers 500 to some, and no database or file accepts them all."""

NOT_TEMPLATE_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
"""Like NOT_TEXT, but allows carriage returns, because templates see texts as the help desk sent them."""

NOT_FOR_A_TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Like NOT_TEXT, plus DEL and C1, which control a terminal: for every text that people see."""

NOT_ON_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Every control character and line separator, which could forge a line of the log; surrogates are escaped there."""

LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Characters that JSON allows and UTF-8 does not; other control characters of an event are stored unchanged."""

NOT_IN_A_HEADER = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that end or forge an HTTP header, including tab and line feed; C1 is part of Latin-1 and allowed."""

NOT_STORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""Exactly the characters that PostgreSQL refuses: a template is stored as it was typed, or rejected."""
