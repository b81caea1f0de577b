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
from markupsafe import Markup, escape

from goldassay import __version__
from goldassay._support.secrets import redact
from goldassay.core.fields import JsonObject
from goldassay.measures.classification.records import institutions
from goldassay.reporting.pages.charts import figure
from goldassay.reporting.summary import gold_name
from goldassay.results.comparison import ComparisonVerdict
from goldassay.results.view import (
    Cell,
    Chart,
    Diff,
    Note,
    Sentence,
    Table,
    TableRow,
    Value,
    bounds,
    number,
    p_value,
    signed,
    typeset,
    written,
)
from goldassay.running.summary import model_name, tokens
from goldassay.statistics.intervals import Interval

HERE = Path(__file__).parent


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


@cache
def digest(text: str) -> str:
    """The hash by which a policy allows an inline script or style.

    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
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


@cache
def packed_plotly() -> str:
    """The chart library, which is packed once: that takes as long as all else of a small page."""
    return packed(plotly() or "")


def policy(scripts: Iterable[str], styles: Iterable[str], *, connect: bool = False, local_scripts: bool = False) -> str:
    """The content security policy of a page: these scripts, these styles, and nothing else.

    ``style`` attributes are allowed because charts place their marks with them. ``connect`` lets a served page ask its
    own server; ``local_scripts`` lets a page load the chart library from the file beside it.
    """
    allowed = " ".join(f"'{digest(script)}'" for script in scripts)
    if local_scripts:
        allowed += " 'self'"
    sheets = " ".join(f"'{digest(style)}'" for style in styles)
    rules = {
        "default-src": "'none'",
        "script-src": allowed.strip() or "'none'",
        "style-src-elem": f"{sheets} '{digest('')}'",  # of no text: the style element that plotly fills itself
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


def difference(value: float | None) -> str:
    """A difference with its sign; a dash for None."""
    return "–" if value is None else typeset(signed(value))


def code(key: Hashable, facet: str = "", institutional: bool = False) -> str:
    """A label or the key of a stratum; the code of an institution type is written with its name.

    Labels and types are such codes if the gold is ``institutional``.

    >>> code("H", "custodian_type"), code("nl", "language")
    ('H · Holy site', 'nl')
    """
    name = institutions().get(str(key)) if facet == "custodian_type" or institutional else None
    return f"{key} · {name.name}" if name else str(key)


def cell(value: Value, places: int = 3) -> Markup:
    """A cell of a table: the ends of an interval and the detail of a text are marked as such.

    >>> cell(0.61764), cell(Cell("slow", "worse", "<b> is data"))
    (Markup('0.618'), Markup('<span class="bad">slow</span><span class="under">&lt;b&gt; is data</span>'))
    """
    if isinstance(value, Cell):
        tone = {"better": "good", "worse": "bad"}.get(value.style, "")
        text = Markup('<span class="{}">{}</span>').format(tone, typeset(value)) if tone else escape(typeset(value))
        return text + (Markup('<span class="under">{}</span>').format(value.detail) if value.detail else "")
    if value is None or isinstance(value, (str, int)):
        return escape(typeset(written(value)))
    if isinstance(value, float):
        return escape(typeset(number(value, places)))
    ends = Markup(' <span class="ends">{}</span>').format(typeset(bounds(value).strip()))
    return escape(typeset(number(value.value, places))) + ends


def bar(value: Value, row: TableRow, table: Table) -> Markup:
    """The first interval of a row as a bar from 0, on the scale of those of the table; nothing for another cell."""
    firsts = [next((cell for cell in cells if isinstance(cell, Interval)), None) for cells in [row, *table.rows]]
    ends = [abs(end) for first in firsts if first is not None for end in first.ends]
    if not isinstance(value, Interval) or value is not firsts[0] or not any(ends):
        return Markup("")
    at = 50 + 50 * value.value / max(ends)
    low = 50 + 50 * value.low / max(ends)
    high = 50 + 50 * value.high / max(ends)
    tone = {"better": "good", "worse": "bad"}.get(ComparisonVerdict.of_gain(*value.ends), "")
    return Markup(
        '<svg class="effect {}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="{:.1f}" '
        'y="1" width="{:.1f}" height="8"/><path d="M50 0V10M{:.1f} 5H{:.1f}"/></svg>'
    ).format(tone, min(50, at), abs(at - 50), low, high)


def figures(table: Table) -> list[bool]:
    """Whether each column of a table holds figures, which are aligned right."""

    def is_figure(value: Value) -> bool:
        return not isinstance(value, str) or re.match(r"[-+–\d]", value) is not None

    columns = zip(*table.rows, strict=True)
    return [at >= table.left and all(map(is_figure, column)) for at, column in enumerate(columns)]


def by_label(table: Table) -> dict[Value, dict[str, Value]]:
    """The cells of a table by the label of the row and the head of the column."""
    return {row[0]: dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


FILTERS = {
    "bar": bar,
    "cell": cell,
    "figures": figures,
    "by_label": by_label,
    "rate": rate,
    "signed": difference,
    "typeset": typeset,
    "p": p_value,
    "model": model_name,
    "tokens": tokens,
    "gold": gold_name,
}


@cache
def environment() -> Environment:
    """The templates; everything they print is escaped, and without secrets."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=lambda value: redact(value) if type(value) is str else value,  # markup is ours
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= FILTERS
    kinds = {"sentence": Sentence, "chart": Chart, "note": Note, "diff": Diff}
    templates.tests |= {name: lambda item, kind=kind: isinstance(item, kind) for name, kind in kinds.items()}
    return templates


def page(
    template: str,
    context: Mapping[str, object],
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
    drawn: list[JsonObject] = []

    def chart(item: Chart | JsonObject | None) -> str:
        """The place of a chart, if there is one and it can be drawn."""
        if not (item and source):
            return ""
        drawn.append(figure(item) if isinstance(item, Chart) else item)
        return Markup('<div class="chart" data-chart="{}"></div>').format(len(drawn) - 1)

    def blobs() -> dict[str, Markup]:
        """The packed data (base64), once every chart has its place."""
        texts: dict[str, str] = {}
        if drawn:
            texts["charts-data"] = packed(json.dumps(drawn))
            if not library:
                texts["plotly-source"] = packed_plotly()
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
            csp=policy(allowed, [style, *own_styles(source)], connect=connect, local_scripts=bool(source and library)),
            style=Markup(style),  # markup of this package, never of a run
            sources=list(map(Markup, sources)),
        )
    )
