r"""Characters that are no text, each class with the reason why it differs from the first.

All leave tab and line feed alone, except where text must stay on one line.
"""

from __future__ import annotations

import re

NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]")
"""Control characters and lone surrogates: the tracker answers 500 to some, no database or file takes all of them."""

NOT_TEMPLATE_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
"""As NOT_TEXT; a carriage return stays, since templates see texts as the helpdesk sent them."""

NOT_FOR_A_TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""As NOT_TEXT, and DEL and C1, which a terminal obeys: for everything that people are shown."""

NOT_ON_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Every control character and line separator: what could forge a line of the log. Surrogates are escaped there."""

LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""What JSON can hold and UTF-8 cannot: an event's other control characters are kept as they came."""

NOT_IN_A_HEADER = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What ends or forges a header of HTTP, tab and line feed among it; C1 is part of Latin-1 and passes."""

NOT_STORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""What PostgreSQL refuses, and nothing more: a template is kept as it was typed, or refused."""
