"""Values with intervals as a LaTeX table (booktabs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

SIGNS = {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SIGNS |= {"\\": r"\textbackslash{}", "↓": r"$\downarrow$"}
Cell: TypeAlias = tuple[float | None, tuple[float, float] | None]
"""A value and the ends of its interval."""


def latex_table(columns: Mapping[str, Mapping[str, Cell]]) -> str:
    r"""Values by system and measure: a row a measure, a column a system.

    >>> print(latex_table({"ours": {"strict_f1": (0.5, (0.25, 0.75))}}).splitlines()[4])
    strict\_f1 & 0.500 {\small [0.250, 0.750]} \\
    """
    lines = [rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(["", *map(escaped, columns)]) + r" \\", r"\midrule"]
    for measure in dict.fromkeys(name for column in columns.values() for name in column):
        cells = [_cell(*column.get(measure, (None, None))) for column in columns.values()]
        lines.append(" & ".join([escaped(measure), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _cell(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "--"
    return f"{value:.3f}" + (rf" {{\small [{ends[0]:.3f}, {ends[1]:.3f}]}}" if ends else "")


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(SIGNS.get(sign, sign) for sign in text)
