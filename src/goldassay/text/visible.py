"""Data on a screen is data: what would move the cursor or turn the writing is shown as its number."""

from __future__ import annotations

import re

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""``text`` with everything that acts on a terminal written as its number.

    Those are control characters but line feed and tab (an escape sequence may clear the screen or set a window's
    title), line and paragraph separators, changes of the direction of writing, and halves of surrogate pairs.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return ACTS.sub(lambda found: _number(ord(found[0])), text)


def _number(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
