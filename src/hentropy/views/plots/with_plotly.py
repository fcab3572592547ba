"""Pictures for pages: what plotly.js draws, as plain values. Nothing is computed here but where things go.

A specification is {"data": [...], "layout": {...}}. Title and caption are the page's. What plotly has no place for is
in layout.meta: the `columns` of the layout, the room that it leaves for the `legend` and `across` panels (a page fits
both to its width), how wide the picture may be at most (`widest`, pixels), `narrower` layouts for the same data in
fewer columns, and the `tables` of the picture.
"""

from typing import Any

from hentropy.views.plots.marks import Panel, Picture, Table
from hentropy.views.plots.plotly_layout import Numbered, layout, widest
from hentropy.views.plots.plotly_traces import Traces
from hentropy.views.plots.theme import dashes


def specification(picture: Picture) -> dict[str, Any]:
    """The picture for plotly.js, JSON-able, with layouts for narrow pages."""
    traces = Traces(dashes=dashes(picture))
    rows: list[list[Numbered]] = []
    count = 0
    for row in picture.rows:
        panels = [each for each in row if isinstance(each, Panel)]
        if panels:
            rows.append(list(enumerate(panels, start=count + 1)))
            count += len(panels)
    for row_of_panels in rows:
        for position, panel in row_of_panels:
            traces.add(panel, position)
    columns = max((len(row) for row in rows), default=0)
    tables = [_table(each) for row in picture.rows for each in row if isinstance(each, Table)]
    narrower = [layout(rows, traces, fewer) for fewer in (2, 1) if fewer < columns]
    made: dict[str, Any] = layout(rows, traces, columns) if rows else {"meta": {"columns": 0}}
    made["meta"] |= {"widest": widest(rows), "narrower": narrower, "tables": tables}
    return {"data": traces.data, "layout": made}


def _table(table: Table) -> dict[str, Any]:
    return {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
