"""Tables on matplotlib's axes: wide ones are turned, so that no column is lost."""

from hentropy.errors import MissingExtra
from hentropy.views.plots.marks import Table
from hentropy.views.plots.matplotlib_texts import inches, written
from hentropy.views.plots.theme import GREY

try:
    from matplotlib.axes import Axes
except ImportError:
    raise MissingExtra("matplotlib", "plots") from None

ROW = 0.29
"""Inches: the height of a row."""

BETWEEN = 0.32
"""Inches: what lies between two columns."""

LONGEST_CELL = 44
MOST_ROWS = 24
SIZE = 10.0


def table_width(table: Table) -> float:
    """How many inches a table is wide."""
    cells = zip(table.columns, *table.rows[:MOST_ROWS], strict=True)
    # names of columns are bold, and so a little wider
    return 0.2 + sum(max(1.1 * inches(_cut(cell), SIZE) for cell in column) + BETWEEN for column in cells)


def table_height(table: Table) -> float:
    """How many inches a table is high, with its title."""
    return ROW * (min(len(table.rows), MOST_ROWS + 1) + 2) + 0.2


def fitted(table: Table, room: float) -> Table:
    """The table, or with its rows as columns where it is wider than so many inches; then as many as have room."""
    if table_width(table) <= room or not table.rows:
        return table
    named = table.columns[0] == ""
    heads = [row[0] for row in table.rows] if named else [str(place + 1) for place in range(len(table.rows))]
    heads = heads if any(heads) else ["value"] * len(heads)
    lines = [(name, *cells) for name, *cells in zip(table.columns, *table.rows, strict=True)][named:]
    for count in range(len(heads), 0, -1):
        left = len(heads) - count
        title = f"{table.title} (and {left} more)" if left else table.title
        turned = Table(title, ("", *heads[:count]), tuple(line[: count + 1] for line in lines))
        if table_width(turned) <= room or count == 1:
            break
    return turned if table_width(turned) < table_width(table) else table


def draw_table(axes: Axes, table: Table, height: float) -> None:
    """Draw a table on axes so many inches high."""
    axes.set_axis_off()
    axes.set_title(written(table.title), fontsize=11, loc="left").set_x(0.02)
    shown = [[_spaced(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    if len(table.rows) > MOST_ROWS:
        shown.append([f"... {len(table.rows) - MOST_ROWS} more", *[""] * (len(table.columns) - 1)])
    if not shown:
        axes.text(0.0, 1.0, "(no rows)", va="top", fontsize=10, color=GREY)
        return
    columns = [_spaced(name) for name in table.columns]
    numbers = [all(_is_number(row[k]) for row in table.rows) for k in range(len(columns))]
    drawn = axes.table(shown, colLabels=columns, loc="upper left", edges="horizontal", cellLoc="left")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(10)
    drawn.auto_set_column_width(list(range(len(columns))))
    for (row, column), cell in drawn.get_celld().items():
        cell.set_height(min(1.0 / (len(shown) + 1.5), ROW / (height - 0.6)))
        cell.set_edgecolor("#cccccc")
        cell.PAD = 0.0
        cell.get_text().set_horizontalalignment("right" if numbers[column] else "left")
        if row == 0:
            cell.get_text().set_fontweight("bold")


def _spaced(text: str) -> str:
    # matplotlib's own padding is a share of the width: none where columns are narrow
    return f"  {_cut(text)}  "


def _is_number(cell: str) -> bool:
    try:
        float(cell.partition("±")[0])
    except ValueError:
        return False
    return True


def _cut(text: str) -> str:
    return written(text, LONGEST_CELL)
