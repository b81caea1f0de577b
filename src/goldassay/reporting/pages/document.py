"""One HTML file with everything in it: styles, scripts, charts' library, data; and a policy that lets nothing else in.

Data never becomes markup. What a template prints is escaped by Jinja; what a script shows was packed here (JSON, gzip,
base64) and goes through ``textContent``. Scripts and styles are allowed by their hashes alone, so that even markup that
slipped through could not run, and no request leaves the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from goldassay.reporting.facts import shown_gold, shown_model
from goldassay.statistics import Comparison

HERE = Path(__file__).parent
EMPTY = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # of no text: the style element that plotly fills itself


@cache
def asset(name: str) -> str:
    """A script or a style sheet of this package."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


@cache
def plotly() -> str | None:
    """The charts' library, which its Python package brings along; ``None`` without the extra ``report``."""
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError:
        return None
    return str(get_plotlyjs())


def digest(text: str) -> str:
    """The hash by which a policy allows an inline script or style.

    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def own_styles(library: str) -> list[str]:
    """The style sheets that a library writes into the page itself, so that the policy can allow just these.

    >>> own_styles("e.textContent='.map{color:red}';")
    ['.map{color:red}']
    """
    found = re.findall(r"\.textContent='((?:[^'\\\\]|\\\\.)*)'", library)
    return [text.replace("\\\\", "\\") for text in found]


def packed(text: str) -> str:
    """Text as gzip in base64: small, and free of anything that could end the element it stands in."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), compresslevel=6, mtime=0)).decode()


def policy(scripts: Iterable[str], styles: Iterable[str], *, connect: bool = False) -> str:
    """The content security policy of a page: these scripts, these styles, and otherwise nothing at all.

    Attributes ``style`` are allowed, since the charts place their marks with them; ``connect`` lets a page that was
    served ask its own server.
    """
    allowed = " ".join(f"'{digest(script)}'" for script in scripts)
    sheets = " ".join(f"'{digest(style)}'" for style in styles)
    rules = {
        "default-src": "'none'",
        "script-src": allowed or "'none'",
        "style-src-elem": f"{sheets} '{EMPTY}'",
        "style-src-attr": "'unsafe-inline'",
        "img-src": "data:",
        "connect-src": "'self'" if connect else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def percent(value: float | None, places: int = 3) -> str:
    """A rate for people: three places, a dash where there is none."""
    return "–" if value is None else f"{value:.{places}f}"


def signed(value: float | None, places: int = 3) -> str:
    """A difference with its sign.

    >>> signed(0.05), signed(-0.2), signed(None)
    ('+0.050', '−0.200', '–')
    """
    return "–" if value is None else f"{value:+.{places}f}".replace("-", "−")


def probability(p: float | None) -> str:
    """A p-value.

    >>> probability(0.0314), probability(0.0001), probability(None)
    ('.031', '<.001', '–')
    """
    if p is None:
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def verdict(found: Comparison) -> str:
    """What a paired difference says, at .05.

    >>> from goldassay.statistics import compare
    >>> verdict(compare([1.0] * 20, [0.0] * 20)), verdict(compare([1.0, 0.0], [0.0, 1.0]))
    ('better', 'not shown to differ')
    """
    if found.p >= 0.05:
        return "not shown to differ"
    return "better" if found.difference > 0 else "worse"


def environment() -> Environment:
    """The templates, with everything escaped."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "rate": percent,
        "signed": signed,
        "p": probability,
        "model": shown_model,
        "gold": shown_gold,
        "verdict": verdict,
    }
    return made


def page(
    template: str,
    context: Mapping[str, object],
    *,
    scripts: Sequence[str] = (),
    charts: Sequence[Mapping[str, object]] = (),
    data: Mapping[str, str] = {},
    connect: bool = False,
) -> str:
    """A whole document.

    ``scripts`` are names of assets, ``charts`` the figures that the template places by their number, ``data`` packed
    texts by the id of the element that they stand in; ``connect`` is for pages that ask their own server.

    Args:
        context: What the template is filled with.
    """
    library = plotly() if charts else None
    sources = [asset(name) for name in ("page.js", *scripts)]
    style = asset("page.css")
    blobs = {"charts-data": packed(json.dumps(list(charts), ensure_ascii=False)) if library else "", **data}
    if library:
        blobs["plotly-source"] = packed(library)
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            charts_shown=bool(library),
            csp=policy(
                [*sources, *([library] if library else [])],
                [style, *(own_styles(library) if library else [])],
                connect=connect,
            ),
            style=Markup(style),  # of this package, never of a run
            sources=[Markup(source) for source in sources],
            blobs={name: Markup(text) for name, text in blobs.items() if text},  # base64
        )
    )
