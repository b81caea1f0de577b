"""Which planted shortcuts are found, and how many clean sets are warned about: ``python -m benchmarks.shortcuts``."""

from __future__ import annotations

from tests.simulations.planted_shortcuts import BESIDE_TEXT, IN_TEXT, warned


def main() -> None:
    """Print the table of docs/how-to/explain.md."""
    for kind, share in warned([*IN_TEXT, *BESIDE_TEXT], range(20)).items():
        print(f"| {kind} | {share:.2f} |", flush=True)
    print(f"| clean | {warned([''], range(200))['']:.3f} |")


if __name__ == "__main__":
    main()
