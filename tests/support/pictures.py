"""Pictures made by hand, with every kind of mark; and how to check, to draw and to hasten others."""

import json
import math
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import hentropy as he
from hentropy.core.gain import Effort
from hentropy.core.spaces import DesignSpace
from hentropy.views.plots.marks import (
    Axis,
    Band,
    Bars,
    Contour,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Role,
    Rule,
    Table,
)
from hentropy.views.plots.with_matplotlib import draw
from hentropy.views.plots.with_plotly import specification


def checked(made: Picture) -> dict[str, Any]:
    """A specification that JSON and plotly take, with all its layouts."""
    found = specification(made)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    go.Figure(found)
    for layout in found["layout"]["meta"]["narrower"]:
        go.Figure(layout=layout)  # the data are the same
    return found


def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be decided after an outcome is shown with few drawn functions on small grids."""
    for name, size in (("DRAWS", 4), ("POINTS", 7), ("PLANE", 4)):
        monkeypatch.setattr(f"hentropy.views.plots.why.{name}", size)


def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """`coarse`, and experiments are valued roughly: for pictures of which only the form is looked at."""
    coarse(monkeypatch)
    for name, effort in (("ROUGH", Effort(1, 4, 64, 2, 0)), ("CAREFUL", Effort(2, 4, 64, 2, 0))):
        monkeypatch.setattr(f"hentropy.views.plots.target.{name}", effort)


LIGANDS = ("PPh3", "XPhos", "dppf", "tri-tert-butylphosphine")
SOLVENTS = ("THF", "dioxane", "DMF")
BOILING = {"THF": 66.0, "dioxane": 101.0, "DMF": 153.0}
GAIN = dict(zip(LIGANDS, (0.0, 2.0, 1.0, 0.5), strict=True))

REACTION = he.Space(
    ligand=LIGANDS,
    temperature=he.Real(25.0, 140.0, unit="C"),
    solvent=SOLVENTS,
    loading=he.Levels([0.5, 1.0, 5.0], log=True, unit="mol%"),
    where=["temperature <= boiling[solvent]"],
    tables={"boiling": BOILING},
)
MIXTURE = he.Space(mortar=he.Fractions(["sand", "lime", "ash"], total=100.0, unit="%"), dry=he.Real(0.0, 5.0, step=0.5))
TABLE = he.Pool(
    [[f"S{k:02d}", SOLVENTS[k % 3], 0.1 * k, 20.0 + 7 * (k % 5), f"remark {k}"] for k in range(24)],
    names=["sample", "solvent", "ratio", "age", "remark"],
    id="sample",
    ignore=["remark"],
)
SPACES: dict[str, DesignSpace] = {
    "reaction": REACTION,
    "two choices": he.Space(ligand=LIGANDS, solvent=SOLVENTS),
    "a choice and a number": he.Space(ligand=LIGANDS, t=he.Real(0.1, 10.0, log=True)),
    "named levels": he.Space(grade=he.Levels(["coarse", "medium", "fine"])),
    "levels and a choice": he.Space(
        wet=[False, True], grade=he.Levels(["coarse", "medium", "fine"]), n=he.Levels([1, 4])
    ),
    "parts": MIXTURE,
    "table": TABLE,
    "one option": he.Space(only=["this"], t=he.Real(0.0, 1.0), ligand=LIGANDS),
}


def value(params: dict[str, Any]) -> float:
    """Smooth in numbers, different for options, and the same however often it is asked."""
    total = 0.0
    for name, own in params.items():
        if name == "ligand":
            total += GAIN[own]
        elif name not in ("sample", "remark"):
            total += 0.4 * len(own) if isinstance(own, str) else math.sin(0.05 * float(own))
    return total


PNG = b"\x89PNG"
DRAWN: set[str] = set()


def outline(part: Any) -> Any:
    """A picture without its numbers: its marks with their shapes and gaps, and its texts."""
    if isinstance(part, np.ndarray):
        return part.shape, bool(np.isfinite(part.astype(float)).all())
    if isinstance(part, str):
        return re.sub(r"\d[\d.,]*(e[-+]?\d+)?", "#", part)
    if isinstance(part, tuple):
        return [outline(each) for each in part]
    if is_dataclass(part):
        return [type(part).__name__, *(outline(getattr(part, field.name)) for field in fields(part))]
    return bool(np.isfinite(part)) if isinstance(part, float) else str(part)


def drawn(made: Picture) -> Figure | None:
    """Draw the picture as a file: a warning is an error, and no text reaches beyond the paper.

    Many differ by their numbers only: the drawing knows no decisions, and once is enough; then there is no figure.
    """
    words = repr(outline(made))
    if words in DRAWN:
        return None
    DRAWN.add(words)
    figure = draw(made)
    figure.draw_without_rendering()
    room, paper = figure.get_tightbbox(), figure.get_size_inches()  # of what is shown: ticks beyond an axis are not
    beyond = [text for text in figure.findobj(Text) if _is_beyond(text, figure)]
    assert -SLACK <= room.x0 <= room.x1 <= paper[0] + SLACK, beyond
    assert -SLACK <= room.y0 <= room.y1 <= paper[1] + SLACK, beyond
    return figure


def _is_beyond(text: Any, figure: Figure) -> bool:
    box = text.get_window_extent()
    return bool(text.get_text().strip() and not figure.bbox.padded(SLACK * figure.dpi).contains(box.x1, box.y1))


SLACK = 0.05
"""Inches by which what is drawn may reach beyond the paper."""


HOSTILE = "</script><script>alert(1)</script> $x$ %{x} <b>_"
"""A text that must be shown as it is."""

X = np.linspace(0.0, 10.0, 21)
RATES = np.logspace(-4.0, 0.0, 9)
SHARES = np.linspace(0.0, 1.0, 7)
PLANE = np.sin(np.log(RATES))[None, :] * np.cos(4.0 * SHARES)[:, None]


def curve() -> Panel:
    """A line with bands and all kinds of points."""
    low, high = np.sin(X) - 1.0, np.sin(X) + 1.0
    low[7] = np.nan
    marks: tuple[Mark, ...] = (
        Band(X, low, high, Role.UNCERTAINTY, "95 % of what is likely"),
        Line(X, np.sin(X), Role.MEAN, "mean"),
        Line(X, np.cos(X), Role.LOW, dashed=True, dots=True),
        *(Dots(np.array([0.5, 10.0]), np.array([0.0, 0.5]), role, role.value) for role in Role),
        Dots(np.array([4.0]), np.array([0.0]), Role.DATA, error=np.array([0.2]), texts=("trial 4, which was long",)),
        Dots(np.array([1.0, 2.0]), np.array([0.0, 0.5]), Role.DECIDED, "decided", texts=("1", "2")),
        Rule(3.0, "x", Role.PROPOSED, "next"),
        Rule(0.5, "y", Role.LIMIT, "limit"),
    )
    return Panel(HOSTILE, Axis(HOSTILE, 0.0, 10.0), Axis("value"), marks)


def maps() -> tuple[Panel, Panel]:
    """A map of numbers with a hole in it, and one of labels."""
    holed = PLANE.copy()
    holed[:2, :2] = np.nan
    x, y = Axis("rate", 1e-4, 1.0, log=True), Axis("share", 0.0, 1.0)
    numbers = (Heat(RATES, SHARES, holed, "mean", -1.0, 1.0), Contour(RATES, SHARES, PLANE, 0.3, Role.LIMIT, "0.3"))
    labels = np.digitize(PLANE, [-0.3, 0.3]).astype(float)
    named = (Heat(RATES, SHARES, labels, "label", names=("below", HOSTILE, "above")),)
    return Panel("numbers", x, y, numbers), Panel("labels", x, y, named)


def bars() -> Panel:
    """Bars for names."""
    axis = Axis("parameter", names=("a", HOSTILE))
    return Panel("bars", axis, Axis("share", 0.0), (Bars(np.array([-0.5, 0.5, 1.5]), np.array([1.0, 2.0]), Role.LOSS),))


def everything() -> Picture:
    """A picture of three rows with every mark and a table."""
    table = Table("table", ("x", HOSTILE), (("1", HOSTILE), ("2 ± 0.1", "温度")))
    return Picture("all", HOSTILE, f"{HOSTILE} " * 5, ((curve(), *maps()), (bars(),), (table,)))
