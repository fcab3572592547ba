"""The report as one HTML file that refers to nothing outside it."""

from pathlib import Path

from markupsafe import Markup

from hentropy.core.given import is_number
from hentropy.studies.records import Verdict
from hentropy.studies.records.verdict import cell_text, lying
from hentropy.studies.study import Study
from hentropy.views.report.contents import contents
from hentropy.views.web.templating import environment, static_text

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS, SHOWN_ROWS = 24, 8
"""Of an action with more rows than the first, so many stand open; the others are folded."""

MOST_ACROSS = 10
"""A table of trials with more columns than these is set in small type, so that none is cut on a usual screen."""


def report_html(study: Study) -> str:
    """The report of a study as it stands. Its verdict is recorded, as by `Study.decide`."""
    said = contents(study)
    return (
        environment(TEMPLATES)
        .get_template("report.html")
        .render(
            report=said,
            verdict=said.verdict,
            shown_rows=_shown_rows(said.verdict),
            lying=_lying(said.verdict),
            most_across=MOST_ACROSS,
            numeric=_numeric(said.verdict),
            cell_text=cell_text,
            styles=[Markup(static_text("base.css")), Markup(_text("report.css"))],
            scripts=[
                Markup(static_text("plotly-cartesian.min.js") if said.pictures else ""),
                Markup(static_text("pictures.js") if said.pictures else ""),
                Markup(_text("report.js")),
            ],
        )
    )


def _shown_rows(verdict: Verdict | None) -> int:
    rows = 0 if verdict is None else len(verdict.action)
    return rows if rows <= MOST_ROWS else SHOWN_ROWS


def _lying(verdict: Verdict | None) -> list[range]:
    """The rows of an action that stand beside each other, where they do."""
    rows = 0 if verdict is None else len(verdict.action)
    return [] if verdict is None else lying(len(verdict.columns), rows, rows)


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _numeric(verdict: Verdict | None) -> dict[str, bool]:
    """Which columns of an action have numbers."""
    if verdict is None:
        return {}
    return {name: all(is_number(row.get(name)) for row in verdict.action) for name in verdict.columns}
