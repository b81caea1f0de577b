"""One self-contained HTML file: styles, scripts, the chart library and data, under a strict content security policy.

Data never becomes markup. Jinja escapes what a template prints; scripts show packed data (JSON, gzip, base64) through
``textContent``. The policy allows scripts and styles by their hashes only, so markup that slipped through could not
run, and no request leaves the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from goldassay import __version__
from goldassay.fields import Record
from goldassay.measures.classification.records import institutions
from goldassay.reporting import cells
from goldassay.reporting.cells import number, p_value
from goldassay.reporting.summary import gold_name, model_name, tokens

HERE = Path(__file__).parent
EMPTY = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # of no text: the style element that plotly fills itself


@cache
def asset(name: str) -> str:
    """A script or a style sheet of this package."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


@cache
def plotly() -> str | None:
    """The source of plotly.js, from the Python package; None without the extra ``report``."""
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
    """The style sheets that a library writes into the page, so that the policy can allow exactly these.

    >>> own_styles("e.textContent='.map{color:red}';")
    ['.map{color:red}']
    """
    styles = re.findall(r"\.textContent='((?:[^'\\\\]|\\\\.)*)'", library)
    return [text.replace("\\\\", "\\") for text in styles]


def packed(text: str) -> str:
    """Text as gzip in base64: small, and unable to close the element that holds it."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), compresslevel=6, mtime=0)).decode()


def policy(scripts: Iterable[str], styles: Iterable[str], *, connect: bool = False, beside: bool = False) -> str:
    """The content security policy of a page: these scripts, these styles, and nothing else.

    ``style`` attributes are allowed because charts place their marks with them. ``connect`` lets a served page ask its
    own server; ``beside`` lets a page load the chart library from the file beside it.
    """
    allowed = " ".join(f"'{digest(script)}'" for script in scripts)
    if beside:
        allowed += " 'self'"
    sheets = " ".join(f"'{digest(style)}'" for style in styles)
    rules = {
        "default-src": "'none'",
        "script-src": allowed.strip() or "'none'",
        "style-src-elem": f"{sheets} '{EMPTY}'",
        "style-src-attr": "'unsafe-inline'",
        "img-src": "data:",
        "connect-src": "'self'" if connect else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def rate(value: float | None) -> str:
    """A number with three places; a dash for None."""
    return typeset(number(value, 3))


def signed(value: float | None) -> str:
    """A difference with its sign; a dash for None."""
    return "–" if value is None else typeset(cells.signed(value))


def typeset(text: str) -> str:
    """Text whose negative numbers have a minus sign instead of a hyphen.

    >>> typeset("B-2: -0.2 [-0.300, +0.1] on 2026-11-23")
    'B-2: −0.2 [−0.300, +0.1] on 2026-11-23'
    """
    return re.sub(r"(?<![\w.-])-(?=\d)", "−", text)


def code(key: Hashable, facet: str = "", institutional: bool = False) -> str:
    """A label or the key of a stratum; the code of an institution type is written with its name.

    Labels and types are such codes if the gold is ``institutional``.

    >>> code("H", "custodian_type"), code("nl", "language")
    ('H · Holy site', 'nl')
    """
    name = institutions().get(str(key)) if facet == "custodian_type" or institutional else None
    return f"{key} · {name.name}" if name else str(key)


FILTERS = {
    "rate": rate,
    "signed": signed,
    "typeset": typeset,
    "p": p_value,
    "model": model_name,
    "tokens": tokens,
    "gold": gold_name,
}


@cache
def environment() -> Environment:
    """The templates; everything they print is escaped."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= FILTERS
    return templates


def page(
    template: str,
    context: Record,
    *,
    scripts: Sequence[str] = (),
    data: Mapping[str, str] = {},
    connect: bool = False,
    library: str | None = None,
) -> str:
    """A whole HTML document.

    Args:
        template: The file under ``templates``.
        context: The values of the template's variables.
        scripts: Names of assets.
        data: Packed texts by the id of their element.
        connect: Whether the page may ask the server that served it.
        library: The file beside the page that holds the chart library (`plotly`); None puts it into the page.
    """
    source = plotly() or ""
    style = asset("page.css")
    sources = [asset(name) for name in ("page.js", *scripts)]
    figures: list[Record] = []

    def chart(figure: Record | None) -> str:
        """The place of a chart, if there is one and it can be drawn."""
        if not (figure and source):
            return ""
        figures.append(figure)
        return Markup('<div class="chart" data-chart="{}"></div>').format(len(figures) - 1)

    def blobs() -> dict[str, Markup]:
        """The packed data (base64), once every chart has its place."""
        texts: dict[str, str] = {}
        if figures:
            texts["charts-data"] = packed(json.dumps(figures))
            if not library:
                texts["plotly-source"] = packed(source)
        return {name: Markup(text) for name, text in {**texts, **data}.items()}

    allowed = [*sources, *([source] if source and not library else [])]
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            version=__version__,
            chart=chart,
            blobs=blobs,
            library=library if source else None,
            csp=policy(allowed, [style, *own_styles(source)], connect=connect, beside=bool(source and library)),
            style=Markup(style),  # markup of this package, never of a run
            sources=list(map(Markup, sources)),
        )
    )
