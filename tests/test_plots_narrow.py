"""Values that are large against their spread: files and pages put marks at the same places, with ticks that tell."""

import json
import math
from typing import Any

import numpy as np
import pytest

import hentropy as he
from hentropy.views.plots.marks import Axis, Dots, Heat, Line, Panel, Picture, Role, Rule, extent
from hentropy.views.plots.pictures import picture
from hentropy.views.plots.plotly_texts import digits, offset
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_matplotlib import draw
from hentropy.views.plots.with_plotly import specification

LOW, HIGH = 2_400_000.0, 2_400_010.0
FAR = 1e9


@pytest.fixture(scope="module")
def scene() -> Scene:
    study = he.Study(he.Space(f=he.Real(LOW, HIGH)), he.Maximize(), seed=1)
    for place in (0.3, 2.7, 4.1, 6.6, 9.2):
        study.attach({"f": LOW + place}, FAR + 20.0 * math.sin(place))
    study.ask()
    return scene_of(study)


@pytest.mark.parametrize("name", ["known", "decided", "loss", "progress", "trust"])
def test_pages_put_marks_where_files_do(scene: Scene, name: str) -> None:
    made = picture(scene, name)
    found = json.loads(json.dumps(specification(made)))
    panels = [panel for row in made.rows for panel in row if isinstance(panel, Panel)]
    shapes = list(found["layout"]["shapes"])
    compared = 0
    for position, panel in enumerate(panels, start=1):
        own = "" if position == 1 else str(position)
        ends = {"x": extent(panel, panel.x, "x"), "y": extent(panel, panel.y, "y")}
        traces = [each for each in found["data"] if each["xaxis"] == f"x{own}" and each.get("mode") is not None]
        for mark in (mark for mark in panel.marks if isinstance(mark, Dots | Line)):
            assert any(_same(trace, mark, ends) for trace in traces), (name, mark.label)
            compared += 1
        for rule in (mark for mark in panel.marks if isinstance(mark, Rule)):
            at = [shape[f"{rule.axis}0"] for shape in shapes if shape.get(f"{rule.axis}ref") == f"{rule.axis}{own}"]
            assert min(abs(each - rule.at) for each in at) <= 1e-6 * _length(ends[rule.axis])
            compared += 1
    assert compared


def _length(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


def _same(trace: dict[str, Any], mark: Dots | Line, ends: dict[str, tuple[float, float]]) -> bool:
    for letter, values in (("x", mark.x), ("y", mark.y)):
        there = np.array([np.nan if each is None else each for each in trace[letter]])
        if there.shape != np.shape(values):
            return False
        slack = 1e-6 * _length(ends[letter])
        if not np.allclose(there, values, rtol=0.0, atol=slack, equal_nan=True):
            return False
    return True


def test_ranges_of_pages_are_those_of_files(scene: Scene) -> None:
    made = picture(scene, "known")
    [axes] = [axes for part in draw(made).subfigs for axes in part.axes]
    layout = specification(made)["layout"]
    for mine, theirs in ((axes.get_xlim(), layout["xaxis"]["range"]), (axes.get_ylim(), layout["yaxis"]["range"])):
        room = 0.02 * _length(mine)  # for markers on the border
        assert theirs == pytest.approx([mine[0] - room, mine[1] + room], rel=0, abs=1e-6 * _length(mine))


def test_ticks_of_a_narrow_axis_are_told_from_a_number_near_it(scene: Scene) -> None:
    layout = specification(picture(scene, "known"))["layout"]
    assert layout["xaxis"]["title"]["text"] == "f \N{MINUS SIGN} 2400000"
    assert layout["xaxis"]["ticktext"] == ["0", "2", "4", "6", "8", "10"]
    assert layout["xaxis"]["tickvals"] == [LOW + each for each in (0, 2, 4, 6, 8, 10)]
    assert offset(0.0, 1.0) is None
    assert offset(1000.0, 1010.0) is None
    assert offset(5.0, 5.0) is None
    below = offset(-FAR - 3.0, -FAR + 3.0)
    assert below is not None
    assert below.base == -FAR
    assert below.titled("value") == "value + 1000000000"


def test_a_map_of_far_values_has_a_scale_that_can_be_read() -> None:
    grid = np.linspace(0.0, 1.0, 6)
    heat = Heat(grid, grid, FAR + 20.0 * np.add.outer(grid, grid), "mean")
    made = Picture("p", "title", "caption", ((Panel("", Axis("a"), Axis("b"), (heat,)),),))
    found = specification(made)
    bar = found["layout"]["coloraxis"]["colorbar"]
    assert len(set(bar["ticktext"])) == len(bar["tickvals"]) > 2
    assert bar["title"]["text"] == "mean \N{MINUS SIGN} 1000000000"
    assert "%{z:.12~g}" in found["data"][0]["hovertemplate"]
    assert digits(0.0, 1.0) == 4


def test_extents_are_those_of_all_marks() -> None:
    error = np.array([[1.0, 2.0], [3.0, 4.0]])
    dots = Dots(np.array([0.0, 1.0]), np.array([5.0, 6.0]), Role.DATA, error=error)
    panel = Panel("", Axis("a"), Axis("b", high=30.0), (dots, Rule(-7.0, "x", Role.LIMIT)))
    assert extent(panel, panel.x, "x") == (-7.0, 1.0)
    assert extent(panel, panel.y, "y") == (4.0, 30.0)
    trace = specification(Picture("p", "title", "caption", ((panel,),)))["data"][0]
    assert trace["error_y"]["arrayminus"] == [1.0, 2.0]
    assert trace["error_y"]["array"] == [3.0, 4.0]
    [axes] = [axes for part in draw(Picture("p", "", "", ((panel,),))).subfigs for axes in part.axes]
    [bars] = axes.collections
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[4.0, 8.0], [4.0, 10.0]]  # type: ignore[attr-defined]
