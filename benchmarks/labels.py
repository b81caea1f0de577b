"""What labels chosen by a design can tell: ``python -m benchmarks labels`` writes the tables of docs/labels.md.

``python -m benchmarks.labels grid`` writes one of them alone (grid, power, sequential, documents, several, levels,
shares, drafts, real); a number says how many draws a cell has, ``--quick`` makes 20 of a few cells and writes nothing.
"""

from __future__ import annotations

import sys

from tests.simulations.labels import DRAWS, PAGE, QUICK, TABLES


def main() -> None:
    quick = "--quick" in sys.argv
    draws = next((int(word) for word in sys.argv[1:] if word.isdigit()), QUICK if quick else DRAWS)
    chosen = [name for name in TABLES if name in sys.argv[1:]] or list(TABLES)
    for name in chosen:
        table = []
        for row in TABLES[name](draws):
            table.append(row)
            print(row, flush=True)
        if PAGE.is_file() and not quick:
            before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
            after = rest.partition("<!-- end -->")[2]
            body = "\n".join(table)
            PAGE.write_text(f"{before}{mark}{body}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
