"""How csv and tsv are written: csv quotes what needs it, tsv quotes nothing."""

from __future__ import annotations

import csv
from typing import Any, TextIO


def writer(out: TextIO, comma: str) -> Any:
    r"""A writer of rows; ``comma`` is what stands between cells, a comma or a tab.

    >>> import io
    >>> out = io.StringIO()
    >>> writer(out, ",").writerow(["a,b", "c"]), out.getvalue()
    (8, '"a,b",c\n')
    """
    return csv.writer(
        out,
        delimiter=comma,
        lineterminator="\n",
        quoting=csv.QUOTE_MINIMAL if comma == "," else csv.QUOTE_NONE,
        quotechar='"' if comma == "," else None,
    )
