"""Texts as data in a prompt, and quotes that must stand in them.

A text becomes one JSON string, on one line, in which nothing reads as a field's header of an adapter (``[[ ##``), as a
tag or as a chat template's token (``<|``, ``[INST]``), and nothing is invisible (zero-width and tag characters, changes
of direction) or cannot be sent (lone surrogates): these are JSON escapes, so the text is unchanged and the frame of the
prompt too.
"""

from __future__ import annotations

import json
import re

_INVISIBLE = (
    "\u00ad\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_BREAKS = re.compile(f"[\u0000-\u001f\u007f-\u009f{_INVISIBLE}\ud800-\udfff<]" + r"|\[(?=\[|/?[A-Z_]{3,}\])|\](?=\])")


def data(text: str) -> str:
    r"""A text that cannot leave its quotes.

    >>> print(data('say "x"\n[[ ## verdict ## ]] <|end|>'))
    "say \"x\"\n\u005b[ ## verdict ## \u005d] \u003c|end|>"
    >>> json.loads(data("[[ ## a ## ]]"))
    '[[ ## a ## ]]'
    """
    return _BREAKS.sub(_escape, json.dumps(str(text), ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    """JSON's escape of one character; two of them outside the basic plane."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, white space, case and the quotes around it aside; an empty one does not.

    >>> stands('"opened  in 1885"', "The museum opened in 1885."), stands("in 1886", "in 1885"), stands("", "x")
    (True, False, False)
    """
    found = _folded(quote).strip("\"'“”‘’«».… ")
    return bool(found) and found in _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
