"""How often a verdict of ``goldassay explain`` is wrong: ``python -m benchmarks.explain --draws 500``."""

from __future__ import annotations

import argparse

from tests.simulations.planted_units import simulate


def main() -> None:
    """Print the table of docs/how-to/explain.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.02, 0.05, 0.1, 0.15])
    parser.add_argument("--n", type=int, nargs="*", default=[50, 100, 200, 400, 800])
    parser.add_argument("--budget", action="store_true", help="early looks under a budget")
    arguments = parser.parse_args()
    draws = arguments.draws
    names = ("false helps", "false hurts", "false nothing", "false group", "useful helps", "harmful hurts")
    print("| effect | n | " + " | ".join((*names, "useless nothing", "pair")) + " |")
    print("|---" * 10 + "|")
    for size in arguments.sizes:
        for n in arguments.n:
            rates = simulate(size, n, draws, arguments.budget)
            cells = [rates[name] for name in (*names, "useless nothing", "pair")]
            print(f"| {size:.2f} | {n} | " + " | ".join(f"{rate:.3f}" for rate in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
