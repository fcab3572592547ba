"""Drawings of pictures: by matplotlib without a warning, and as specifications that plotly takes."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties, findfont, get_font

import hentropy as he
from hentropy.errors import InputError
from hentropy.views.plots.marks import Axis, Band, Contour, Dots, Heat, Panel, Picture, Role, Rule, Table, cell_edges
from hentropy.views.plots.matplotlib_texts import families, fitted, inches, table_width, wrapped, written
from hentropy.views.plots.pictures import PICTURES
from hentropy.views.plots.plotly_figure import figure
from hentropy.views.plots.plotly_texts import numbers, shown
from hentropy.views.plots.plotly_traces import Traces
from hentropy.views.plots.theme import DASHES, LOOKS, OPTIONS, abbreviated, label_places, marker_size
from hentropy.views.plots.with_matplotlib import draw, rendered
from hentropy.views.plots.with_plotly import specification
from support.pictures import HOSTILE, RATES, SHARES, checked, everything, maps
from support.studies import LINE

SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inside in value.values():
            yield from texts_in(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from texts_in(inside)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_every_mark_becomes_a_file(suffix: str, tmp_path: Path) -> None:
    path = draw(everything(), tmp_path / f"all{suffix}", dpi=40)
    assert path.read_bytes().startswith(SIGNATURES[suffix])


def test_equal_pictures_are_equal_files() -> None:
    small = Picture("p", "title", "caption", ((maps()[0],),))
    assert rendered(small, ".pdf") == rendered(small, ".pdf")


def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        draw(everything(), tmp_path / "all.txt")
    assert not list(tmp_path.iterdir())


def test_a_figure_has_one_legend_with_each_label_once() -> None:
    made = draw(everything())
    [legend] = [legend for part in made.subfigs for legend in part.legends]
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels))
    assert {"mean", "95 % of what is likely", "decided", "below"} <= set(labels)


def test_texts_are_drawn_as_they_are() -> None:
    assert written("$x_1$") == r"\$x_1\$"
    assert written("_hidden") == " _hidden"
    assert written("\U0010fffda") == "�a"  # a letter that no font has
    assert written("long" * 9, 10) == "longlongl…"


def test_letters_that_the_usual_font_lacks_are_drawn_in_another_that_has_them() -> None:
    usual = get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
    other = get_font(findfont(FontProperties(family="STIXGeneral"))).get_charmap()
    letter = chr(next(code for code in sorted(other) if code not in usual and 0x2000 < code < 0xE000))
    assert families("abc") == ["DejaVu Sans"]
    first, *others = families(f"a {letter}")
    assert first == "DejaVu Sans"
    assert others
    assert written(letter) == letter
    made = draw(Picture("p", f"title {letter}", "caption.", ((maps()[0],),)))
    titles = [text for part in made.subfigs for text in part.texts if letter in text.get_text()]
    assert [text.get_fontfamily() for text in titles] == [["DejaVu Sans", *others]]


def test_captions_are_wrapped_by_their_measured_width() -> None:
    text = "WWWW " * 40 + "iiii " * 40 + "W" * 200
    lines = wrapped(text, 6.2, 10.0)
    assert " ".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(inches(line, 10.0) <= 6.2 for line in lines)
    for dpi in (60, 80, 130):
        made = draw(Picture("p", "title", text, ((maps()[0],),)))
        made.set_dpi(dpi)
        [caption] = made.subfigs[2].texts
        assert caption.get_window_extent().x1 <= made.bbox.x1


def test_wide_tables_are_turned_so_that_no_column_is_lost() -> None:
    names = [f"a_rather_long_parameter_name_number_{place}" for place in range(6)]
    table = Table("chosen", ("", *names, "mean"), (("first", *"123456", "7"), ("second", *"abcdef", "g")))
    assert fitted(table, 100.0) is table
    turned = fitted(table, 13.0)
    assert turned.columns == ("", "first", "second")
    assert turned.rows[0] == (names[0], "1", "a")
    assert turned.rows[-1] == ("mean", "7", "g")
    assert table_width(turned) <= 13.0 < table_width(table)
    few = fitted(table, table_width(turned) - 0.1)
    assert few.columns == ("", "first")
    assert few.title == "chosen (and 1 more)"
    unnamed = fitted(Table("values", (*names, "mean"), (tuple("1234567"),)), 13.0)
    assert unnamed.columns == ("", "1")
    assert len(unnamed.rows) == 7
    alone = fitted(Table("chosen", ("", *names), (("", *"123456"),)), 13.0)
    assert alone.columns == ("", "value")


def test_rules_of_one_role_have_a_dash_for_each_label_in_all_panels() -> None:
    rules = [Rule(place, "x", Role.LIMIT, name) for place, name in enumerate(("threshold", "cost", "budget"))]
    panels = [Panel("", Axis("x"), Axis("y"), tuple(rules)), Panel("", Axis("x"), Axis("y"), (rules[2], rules[2]))]
    made = Picture("p", "title", "caption.", (tuple(panels),))
    shapes = specification(made)["layout"]["shapes"]
    styles = [shape["line"]["dash"] for shape in shapes]
    assert len(set(styles[:3])) == 3
    assert styles[3] == styles[4] == styles[2]


def test_the_legend_names_only_what_is_drawn() -> None:
    flat = np.zeros((7, 9))
    heat = Heat(RATES, SHARES, flat, "label", names=("below", "above"))
    marks = (
        heat,
        Contour(RATES, SHARES, flat, 0.5, Role.LIMIT, "nowhere"),
        Dots(np.zeros(0), np.zeros(0), Role.DATA, "none"),
    )
    made = Picture("p", "title", "caption.", ((Panel("", Axis("x"), Axis("y"), marks),),))
    [legend] = [legend for part in draw(made).subfigs for legend in part.legends]
    assert [text.get_text() for text in legend.get_texts()] == ["below"]
    assert not any(trace.get("showlegend") for trace in checked(made)["data"])


def test_many_markers_are_smaller() -> None:
    few, many = (Dots(np.zeros(n), np.zeros(n), Role.DATA) for n in (10, 300))
    assert marker_size(few) == LOOKS[Role.DATA].size
    assert marker_size(many) == 3.5 < marker_size(few)


def test_long_names_keep_their_ends() -> None:
    assert abbreviated("a_rather_long_name_3", 11) == "a_rat…ame_3"
    assert abbreviated("short", 11) == "short"


def test_no_two_roles_look_alike() -> None:
    looks = [(look.colour, look.marker) for look in LOOKS.values()]
    assert set(LOOKS) == set(Role)
    # those of one colour differ in their marker
    assert len(set(looks)) == len(looks) - 1, "only the mean and the uncertainty have no marker of their own"
    assert {look.dash for look in LOOKS.values()} <= set(DASHES)


def test_no_option_is_taken_for_the_mean_or_for_another_option() -> None:
    """They stand in one legend; lines of the mean are solid, as that of the first option is."""
    assert LOOKS[Role.MEAN].colour not in OPTIONS
    assert len(set(OPTIONS)) == len(OPTIONS)


def test_cells_lie_around_their_centres() -> None:
    assert cell_edges(np.array([0.0, 1.0, 3.0]), log=False) == pytest.approx([-0.5, 0.5, 2.0, 4.0])
    assert cell_edges(np.array([1.0, 100.0]), log=True) == pytest.approx([0.1, 10.0, 1000.0])
    assert cell_edges(np.array([2.0]), log=False) == pytest.approx([1.5, 2.5])


def test_names_stand_deep_in_their_areas() -> None:
    z = np.zeros((11, 21))
    z[:, 14:] = 1.0
    z[0, 0] = 2.0
    found = label_places(Heat(np.arange(21.0), np.arange(11.0), z, "label", names=("left", "right", "speck")))
    assert [name for name, _, _ in found] == ["left", "right"]
    assert 4.0 <= found[0][1] <= 9.0
    assert found[1][1:] == (17.0, 5.0)


def test_the_specification_is_plain_and_short() -> None:
    found = checked(everything())
    assert len(json.dumps(found)) < 60_000
    [heat] = [trace for trace in found["data"] if trace["type"] == "heatmap" and "text" not in trace]
    assert heat["z"][0][0] is None
    assert heat["z"][3][4] == pytest.approx(maps()[0].marks[0].z[3, 4], rel=1e-5)  # type: ignore[union-attr]


def test_numbers_that_lie_close_together_stay_apart() -> None:
    assert numbers([1e6, 1e6 + 0.01]) == pytest.approx([1e6, 1e6 + 0.01], abs=1e-6)
    assert numbers([1.0 / 3.0, np.nan, np.inf]) == [pytest.approx(1.0 / 3.0, abs=1e-12), None, None]
    many = numbers(np.append(np.linspace(0.0, 1.0, 31), np.nan))
    assert many[1] == 0.03333333
    assert many[-1] is None


def test_no_text_of_a_specification_is_markup() -> None:
    found = checked(everything())
    meta = found["layout"].pop("meta")
    assert meta["tables"][0]["rows"][0][1] == HOSTILE  # a page sets it as text
    for text in texts_in(found):
        assert not re.search(r"<(?!br>|extra>|/extra>)", text), text
        assert "%{x} &lt;b" not in text
    assert shown("<b>%{x}") == "&lt;b&gt;% {x}"


def test_the_legend_names_each_label_once() -> None:
    found = checked(everything())
    parts = [*found["data"], *found["layout"]["shapes"]]
    names = [part["name"] for part in parts if part.get("showlegend")]
    assert len(names) == len(set(names))
    assert {"mean", "limit", "next", "decided"} <= set(names)


def test_narrow_pages_have_layouts_of_their_own() -> None:
    wide = specification(everything())["layout"]
    assert wide["meta"]["columns"] == 3
    two, one = wide["meta"]["narrower"]
    assert [two["meta"]["columns"], one["meta"]["columns"]] == [2, 1]
    assert wide["height"] < two["height"] < one["height"]
    for axis in ("xaxis", "xaxis2", "xaxis3", "xaxis4"):
        assert one[axis]["domain"][0] == 0.0
    tops = [one[axis]["domain"] for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert all(below[1] < above[0] for above, below in pairwise(tops))
    lefts = [wide[axis]["domain"] for axis in ("xaxis", "xaxis2", "xaxis3")]
    assert all(left[1] < right[0] for left, right in pairwise(lefts))


def test_a_band_is_broken_where_nothing_is_known() -> None:
    x = np.arange(5.0)
    low, high = np.zeros(5), np.ones(5)
    low[2] = np.nan
    traces = Traces()
    traces.add(Panel("", Axis("x"), Axis("y"), (Band(x, low, high, Role.MEAN),)), 1)
    assert traces.data[0]["x"] == [0, 1, 1, 0, None, 3, 4, 4, 3]
    assert traces.data[0]["y"] == [1, 1, 0, 0, None, 1, 1, 0, 0]


def test_a_picture_of_tables_alone() -> None:
    only = Picture("t", "title", "caption", ((Table("table", ("a",), (("1",),)),),))
    found = checked(only)
    assert found["data"] == []
    assert found["layout"]["meta"]["tables"] == [{"title": "table", "columns": ["a"], "rows": [["1"]]}]
    assert rendered(only, dpi=40).startswith(SIGNATURES[".png"])
    assert rendered(Picture("n", "title", "caption", ()), dpi=40).startswith(SIGNATURES[".png"])


def test_pictures_in_notebooks() -> None:
    made = everything()
    assert made._repr_png_().startswith(SIGNATURES[".png"])
    assert figure(made).layout.title.text == shown(HOSTILE)


def test_a_study_shows_itself() -> None:
    study = he.Study(LINE, he.Maximize(), name="<b>lab</b>")
    assert "no trials yet" in study._repr_html_()
    for value in range(6):
        study.attach({"x": value / 7.0}, 0.5 + value)
    study.tell(study.ask(), 1.0, note="<script>")
    study.decide()
    text = study._repr_html_()
    assert "&lt;b&gt;lab&lt;/b&gt;" in text
    assert "7 complete" in text
    assert "Last decided" in text
    assert "expected loss" in text
    assert text.count("<td>complete</td>") == 5
    assert "<script" not in text


def test_the_examples_of_the_document_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[1] / "docs" / "pictures.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == set(PICTURES)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(code, names)
    assert {path.name for path in tmp_path.iterdir()} == {"known.png", "decided.png", "loss.png", "report.html"}
