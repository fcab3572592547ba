"""Pictures for pages: what plotly.js draws, as plain values. Nothing is computed here but where things go.

A specification is {"data": [...], "layout": {...}}. Title and caption are the page's. What plotly has no place for is
in layout.meta: `columns` and `widest` (pixels) of the layout, `narrower` layouts for the same data in fewer columns,
and the `tables` of the picture.
"""

from typing import Any

from hentropy.plots.marks import Panel, Picture, Table
from hentropy.plots.plotly_layout import Numbered, layout, widest
from hentropy.plots.plotly_traces import Traces


def specification(picture: Picture) -> dict[str, Any]:
    """The picture for plotly.js, JSON-able, with layouts for narrow pages."""
    traces = Traces()
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
    narrower = [_with_columns(rows, traces, fewer) for fewer in (2, 1) if fewer < columns]
    made = _with_columns(rows, traces, columns) if rows else {"meta": {"columns": 0}}
    made["meta"] |= {"widest": widest(rows), "narrower": narrower, "tables": tables}
    return {"data": traces.data, "layout": made}


def _with_columns(rows: list[list[Numbered]], traces: Traces, columns: int) -> dict[str, Any]:
    return layout(rows, traces, columns) | {"meta": {"columns": columns}}


def _table(table: Table) -> dict[str, Any]:
    return {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
