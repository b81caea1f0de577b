"""Texts as data in a prompt, and quotes that must stand in them.

A text becomes one JSON string, on one line, in which nothing reads as a field's header of an adapter (``[[ ##``), as a
tag or as a chat template's token (``<|``): these are JSON escapes, so the text is unchanged and the frame of the prompt
too.
"""

from __future__ import annotations

import json
import re

_BREAKS = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e<]|\\[(?=\\[)|\\](?=\\])")


def data(text: str) -> str:
    r"""A text that cannot leave its quotes.

    >>> print(data('say "x"\n[[ ## verdict ## ]] <|end|>'))
    "say \"x\"\n\u005b[ ## verdict ## \u005d] \u003c|end|>"
    >>> json.loads(data("[[ ## a ## ]]"))
    '[[ ## a ## ]]'
    """
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(str(text), ensure_ascii=False))


def stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, white space, case and the quotes around it aside; an empty one does not.

    >>> stands('"opened  in 1885"', "The museum opened in 1885."), stands("in 1886", "in 1885"), stands("", "x")
    (True, False, False)
    """
    found = _folded(quote).strip("\"'“”‘’«».… ")
    return bool(found) and found in _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
