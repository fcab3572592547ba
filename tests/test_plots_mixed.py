"""Pictures of designs as laboratories have them: choices, levels, parts of a whole, conditions, tables with ids."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Needs
from hentropy.core.spaces import DesignSpace
from hentropy.views.plots.chosen import ChosenInfo, chosen_info, chosen_picture
from hentropy.views.plots.decided import decided_info, decided_picture
from hentropy.views.plots.fields import (
    MAX_OPTIONS,
    bin_edges,
    by_relevance,
    can_run,
    in_words,
    parameter_axis,
    relevance,
    seen,
    varied,
    varying,
)
from hentropy.views.plots.identified import PlacesInfo
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.levels import LevelsInfo
from hentropy.views.plots.marks import Axis, Bars, Dots, Heat, Line, Panel, Picture, Role, Table
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.slice_marks import shown_trials, side_by_side, within
from hentropy.views.plots.slices import MAX_LINES, reference_design, slices
from hentropy.views.plots.trust import length_scales, predictions_info, trust_picture
from hentropy.views.plots.why import why_info, why_picture
from hentropy.views.plots.with_matplotlib import draw
from support.pictures import BOILING, LIGANDS, MIXTURE, REACTION, SOLVENTS, SPACES, TABLE, checked, coarse, value


def made(space: DesignSpace, decision: he.Decision | None = None, count: int = 8, **options: Any) -> Scene:
    chosen = he.Maximize() if decision is None else decision
    study = he.Study(space, chosen, **{"seed": 3, "hyperparameters": "map", **options})
    for row in space.sample(count, seed=5):
        params = space.decode(row)
        study.attach(params, value(params))
    return scene_of(study)


def panels(made_: Picture) -> list[Panel]:
    return [each for row in made_.rows for each in row if isinstance(each, Panel)]


def with_values(scene: Scene, **values: Any) -> torch.Tensor:
    """The reference with other values, by name."""
    return scene.space.encode({**scene.space.decode(reference_design(scene)), **values})


def expected(scene: Scene, row: torch.Tensor) -> float:
    return float(scene.belief.moments(row[None], Needs.VARIANCE).total()[0])


@pytest.mark.parametrize("name", SPACES)
def test_designs_are_seen_by_field_and_varied_field_by_field(name: str) -> None:
    space = SPACES[name]
    rows = space.sample(6, seed=1)
    found = seen(space, rows)
    assert found.shape == (6, len(space.fields))
    for row, own in zip(rows, found, strict=True):
        params = space.decode(row)
        for field, number in zip(space.fields, own.tolist(), strict=True):
            there = params[field.name]
            assert number == pytest.approx(there if field.is_number else field.options.index(there))
    other = space.sample(6, seed=2)
    for index in varying(space):
        moved = varied(space, rows, {index: torch.from_numpy(seen(space, other)[:, index])})
        np.testing.assert_allclose(seen(space, moved)[:, index], seen(space, other)[:, index])
        untouched = [k for k in range(len(space.fields)) if k != index and space.fields[k].unit != "%"]
        np.testing.assert_allclose(seen(space, moved)[:, untouched], found[:, untouched])


def test_the_other_parts_shrink_and_grow_in_proportion() -> None:
    space = he.Space(mix=he.Fractions(["a", "b", "c"], total=1.0, high={"a": 1.0, "b": 0.5, "c": 1.0}))
    rows = torch.tensor([[0.2, 0.2, 0.6], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    given = torch.tensor([0.6, 0.0, 0.4, 0.2], dtype=torch.float64)
    moved = varied(space, rows, {0: given})
    np.testing.assert_allclose(moved[0], [0.6, 0.1, 0.3])  # b and c as 1 to 3, as before
    np.testing.assert_allclose(moved[1], [0.0, 0.5, 0.5])
    np.testing.assert_allclose(moved[2], [0.4, 0.3, 0.3])  # there was nothing to be in proportion to
    np.testing.assert_allclose(moved[3], [0.2, 0.5, 0.3], atol=1e-6)  # b is at its bound
    assert bool(can_run(space, moved).all())
    space.check(moved)
    both = varied(space, rows[:1], {0: torch.tensor([0.7]), 1: torch.tensor([0.4])})
    assert not bool(can_run(space, both))  # more than the whole


def test_a_mixture_with_few_parts_stays_one() -> None:
    space = he.Space(mix=he.Fractions(["a", "b", "c", "d"], at_most=2))
    rows = torch.tensor([[0.4, 0.6, 0.0, 0.0]], dtype=torch.float64).repeat(2, 1)
    moved = varied(space, rows, {0: torch.tensor([0.7, 0.0])})
    np.testing.assert_allclose(moved, [[0.7, 0.3, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], atol=1e-9)
    third = varied(space, rows[:1], {2: torch.tensor([0.5])})
    assert not bool(can_run(space, third))


def test_slices_are_what_the_belief_says_of_designs_that_can_be_run() -> None:
    scene = made(REACTION)
    views = known_info(scene, points=5, plane=4).slices
    assert {len(view.ground.axes) for view in views} == {1, 2}
    blank = 0
    for ground in (view.ground for view in views):
        names = [REACTION.fields[index].name for index in ground.indices]
        for place, mean in np.ndenumerate(ground.mean):
            values = {}
            for name, index, axis, grid, at in zip(
                names, ground.indices, ground.axes, ground.grids, reversed(place), strict=True
            ):
                values[name] = REACTION.fields[index].options[at] if axis.names else float(grid[at])
            params = {**REACTION.decode(reference_design(scene)), **values}
            if params["temperature"] > BOILING[params["solvent"]]:
                blank += 1
                assert np.isnan(mean)
                assert np.isnan(ground.quantiles[(slice(None), *place)]).all()
            else:
                assert mean == pytest.approx(expected(scene, with_values(scene, **values)), rel=1e-6)
    assert blank > 0


def test_a_number_comes_first_and_lines_belong_to_options() -> None:
    scene = made(SPACES["a choice and a number"])
    [view] = slices(scene, plane=5)
    frame = view.frame()
    assert view.names == ("t", "ligand")
    assert frame.has_lines
    assert not frame.is_plane
    assert frame.axes[1].names == LIGANDS
    assert view.shape == (4, 5)
    lines = [mark for mark in panels(known_picture(known_info(scene)))[0].marks if isinstance(mark, Line)]
    assert [line.label for line in lines] == [f"ligand: {name}" for name in LIGANDS]
    assert [line.option for line in lines] == [0, 1, 2, 3]
    for line, ligand in zip(lines, LIGANDS, strict=True):
        t = float(line.x[7])
        assert line.y[7] == pytest.approx(expected(scene, with_values(scene, ligand=ligand, t=t)), rel=1e-6)


def test_points_beside_lines_have_the_colour_of_their_option() -> None:
    scene = made(SPACES["a choice and a number"])
    info = known_info(scene)
    panel, _ = panels(known_picture(info))
    [dots] = [mark for mark in panel.marks if isinstance(mark, Dots)]
    assert dots.options is not None
    told = shown_trials(scene)
    for t, height, option, text in zip(dots.x, dots.y, dots.options, dots.texts, strict=True):
        [trial] = [each for each in scene.trials if each.params["t"] == pytest.approx(t)]
        assert LIGANDS[int(option)] == trial.params["ligand"]
        assert height == pytest.approx(trial.value)
        assert text.startswith(f"trial {trial.number}: ")
    assert len(dots.x) == len(told.numbers)


def test_options_stand_side_by_side_with_their_intervals_and_data_beside_them() -> None:
    scene = made(SPACES["named levels"], count=3)
    [panel] = panels(known_picture(known_info(scene)))
    assert panel.x.names == ("coarse", "medium", "fine")
    wide, half, data = (mark for mark in panel.marks if isinstance(mark, Dots))
    assert wide.x.tolist() == [0.0, 1.0, 2.0]
    mean, sd = scene.belief.moments(torch.arange(3.0, dtype=torch.float64)[:, None], Needs.VARIANCE).total()
    np.testing.assert_allclose(wide.y, mean, atol=1e-8)
    assert wide.error is not None
    assert half.error is not None
    np.testing.assert_allclose(wide.error, 1.959964 * sd.sqrt().expand(2, 3), rtol=1e-4, atol=1e-8)
    assert (half.error <= wide.error + 1e-12).all()
    offsets = data.x - data.x.round()
    assert ((offsets > 0.1) & (offsets < 0.4)).all()


def test_two_choices_are_a_matrix_with_its_numbers() -> None:
    scene = made(SPACES["two choices"])
    first, second = panels(known_picture(known_info(scene)))
    assert (first.x.names, first.y.names) == (LIGANDS, SOLVENTS)
    [heat] = [mark for mark in first.marks if isinstance(mark, Heat)]
    for j, solvent in enumerate(SOLVENTS):
        for i, ligand in enumerate(LIGANDS):
            mean = expected(scene, scene.space.encode({"ligand": ligand, "solvent": solvent}))
            assert heat.z[j, i] == pytest.approx(mean, rel=1e-6)
            assert float(heat.texts[j][i]) == pytest.approx(mean, abs=0.06 * (heat.z.max() - heat.z.min()))
    figure = draw(Picture("p", "", "", ((first,),)))
    texts = {text.get_text() for text in figure.findobj() if hasattr(text, "get_text")}
    assert {*heat.texts[0], "PPh3", "DMF"} <= texts
    found = checked(Picture("p", "", "", ((first, second),)))
    written = [each["text"] for each in found["layout"]["annotations"]]
    assert set(heat.texts[0]) <= set(written)
    assert found["layout"]["xaxis"]["ticktext"][0] == "PPh3"


def test_what_lies_in_one_cell_is_drawn_apart() -> None:
    [view] = slices(SPACES["two choices"])
    frame = view.frame()
    x, y = within(frame, (np.zeros(20), np.ones(20)))
    assert len({(round(a, 6), round(b, 6)) for a, b in zip(x, y, strict=True)}) == 20
    assert np.abs(x).max() < 0.5
    assert np.abs(y - 1).max() < 0.5
    across, up = side_by_side(frame.axes[0], (np.array([0.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0])))
    assert across[1] == 2.0
    assert across[0] == -across[2] != 0.0
    assert up.tolist() == [1.0, 1.0, 1.0]


def test_the_relevance_of_a_choice_is_the_spread_over_its_options() -> None:
    scene = made(REACTION, count=20)
    found = relevance(scene.belief, REACTION)
    assert found.shape == (4,)
    starts = [REACTION.decode(row) for row in REACTION.sample(24, 0)]
    variances = []
    for start in starts:
        means = [expected(scene, REACTION.encode({**start, "ligand": ligand})) for ligand in LIGANDS]
        variances.append(np.var(means))
    solvents = []
    for start in starts:
        runs = [solvent for solvent in SOLVENTS if start["temperature"] <= BOILING[solvent]]
        if len(runs) > 1:
            solvents.append(np.var([expected(scene, REACTION.encode({**start, "solvent": own})) for own in runs]))
    ratio = math.sqrt(np.mean(variances) / np.mean(solvents))
    assert found[0] / found[2] == pytest.approx(ratio, rel=1e-6)
    assert by_relevance(scene.belief, REACTION) == tuple(np.argsort(-found).tolist())


def test_a_constant_field_has_no_relevance_and_no_panel() -> None:
    scene = made(SPACES["one option"])
    assert relevance(scene.belief, scene.space)[0] == 0.0
    assert varying(scene.space) == (1, 2)
    assert [view.names for view in slices(scene, plane=3)] == [("t", "ligand")]


def test_a_choice_has_one_length_scale() -> None:
    scene = made(REACTION)
    found = length_scales(scene.belief, REACTION)
    assert found is not None
    assert found.median.shape == (4,)
    assert isinstance(scene.belief, he.Gaussian)
    own = scene.belief.kernel.lengthscale[0]  # type: ignore[attr-defined]
    assert found.median[0] == pytest.approx(float(own[0]) / math.sqrt(2.0))  # options are that far apart
    assert found.median[1] == pytest.approx(float(own[REACTION.places["temperature"].start]))


def test_descriptors_count_for_how_far_options_are_apart() -> None:
    polar = {"polarity": [0.1, 0.3, 0.9], "size": [1.0, 5.0, 2.0]}
    space = he.Space(solvent=he.Choice(SOLVENTS, polar), t=he.Real(0.0, 1.0))
    scene = made(space)
    found = length_scales(scene.belief, space)
    assert found is not None
    assert isinstance(scene.belief, he.Gaussian)
    rows = torch.stack([space.encode({"solvent": own, "t": 0.5}) for own in SOLVENTS])
    scaled = space.to_unit(rows) / scene.belief.kernel.lengthscale[0]  # type: ignore[attr-defined]
    squares = [float((scaled[a] - scaled[b]).square().sum()) for a in range(3) for b in range(a)]
    assert found.median[0] == pytest.approx(1.0 / math.sqrt(np.mean(squares)), rel=1e-6)


def test_the_order_of_options_changes_nothing_but_their_places() -> None:
    turned = he.Space(ligand=LIGANDS[::-1], t=he.Real(0.1, 10.0, log=True))
    plain = SPACES["a choice and a number"]
    rows = [plain.decode(row) for row in plain.sample(9, seed=5)]
    found = []
    for space in (plain, turned):
        study = he.Study(space, he.Maximize(), seed=3, hyperparameters="map")
        study.attach_many([(params, value(params)) for params in rows])
        found.append(relevance(scene_of(study).belief, space))
    # departures fall on other options, so only the order of the fields is exactly the same
    assert np.argsort(found[0]).tolist() == np.argsort(found[1]).tolist()


def test_levels_that_are_numbers_have_their_values_along_the_axis() -> None:
    axis = parameter_axis(REACTION, 3)
    assert (axis.title, axis.ticks, axis.log, axis.names) == ("loading (mol%)", (0.5, 1.0, 5.0), True, ())
    edges = bin_edges(REACTION, 20)[3]
    np.testing.assert_allclose(edges[1:-1], [math.sqrt(0.5), math.sqrt(5.0)])
    assert bin_edges(REACTION, 20)[0].tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5]
    assert bin_edges(MIXTURE, 20)[3][:3].tolist() == pytest.approx([-0.25, 0.25, 0.75])  # steps of 0.5
    scene = made(REACTION)
    loading = next(view.ground for view in known_info(scene, points=5, plane=4).slices if view.ground.indices == (3,))
    assert loading.grids[0].tolist() == [0.5, 1.0, 5.0]
    assert loading.listed == (True,)


def test_steps_are_all_there() -> None:
    views = slices(MIXTURE, points=30)
    dry = next(view for view in views if view.names == ("dry",))
    assert dry.grids[0].tolist() == [0.5 * k for k in range(11)]


def test_a_slice_along_a_part_says_that_the_rest_follows() -> None:
    scene = made(MIXTURE)
    view = next(each for each in slices(scene, points=5) if each.names == ("sand",))
    MIXTURE.check(view.runnable)
    np.testing.assert_allclose(view.designs[:, :3].sum(-1), 100.0, rtol=1e-9)
    frame = view.frame()
    assert frame.axes[0].title == "sand (%), the rest in proportion"
    assert "lime" not in frame.held
    assert "dry" in frame.held
    pair = next(each for each in slices(scene, plane=5) if set(each.names) == {"sand", "lime"})
    assert (~pair.runs).sum() == 10  # above the diagonal of five by five


def test_two_parts_are_one_line() -> None:
    space = he.Space(mix=he.Fractions(["a", "b"]))
    [line] = slices(made(space, count=4), points=5)
    assert len(line.axes) == 1
    assert sum(len(view.axes) == 2 for view in slices(he.Space(mix=he.Fractions(["a", "b"]), t=he.Real(0, 1)))) == 2


def test_of_many_options_the_best_are_shown_with_a_note() -> None:
    catalysts = [f"catalyst number {k}" for k in range(50)]
    space = he.Space(catalyst=catalysts, t=he.Real(0.0, 1.0), ligand=LIGANDS)
    study = he.Study(space, he.Maximize(), seed=3, hyperparameters="map")
    for k, row in enumerate(space.sample(40, seed=5)):
        study.attach({**space.decode(row), "catalyst": catalysts[k]}, 0.1 * k)
    scene = scene_of(study)
    views = slices(scene, points=5, plane=4, order=(0, 1, 2))
    alone = next(view for view in views if view.names == ("catalyst",))
    assert len(alone.grids[0]) == MAX_OPTIONS
    means = [expected(scene, with_values(scene, catalyst=own)) for own in catalysts]
    own = catalysts.index(space.decode(reference_design(scene))["catalyst"])
    shown = set(alone.grids[0].long().tolist())
    assert own in shown
    assert min(means[k] for k in shown - {own}) >= max(means[k] for k in range(50) if k not in shown) - 1e-9
    frame = alone.frame()
    assert frame.axes[0].title == f"catalyst ({MAX_OPTIONS} of 50)"
    assert frame.axes[0].names == tuple(catalysts[k] for k in sorted(shown))
    [places] = frame.places(np.array([[float(own), 0.0, 0.0], [float(min(set(range(50)) - shown)), 0.0, 0.0]]))
    assert frame.axes[0].names[int(places[0])] == catalysts[own]
    assert np.isnan(places[1])
    lines = next(view for view in views if view.names == ("t", "catalyst"))
    assert lines.shape == (MAX_LINES, 4)
    info = chosen_info(scene, draws=8, candidates=40, points=5, plane=4, order=(0, 1, 2))
    open_ = next(panel for panel in panels(chosen_picture(info)) if panel.title == "how open catalyst is")
    [bars] = [mark for mark in open_.marks if isinstance(mark, Bars)]
    assert len(open_.x.names) == len(bars.heights) == MAX_OPTIONS
    assert info.shares[0].sum() == pytest.approx(1.0)
    assert sorted(bars.heights)[::-1] == pytest.approx(sorted(info.shares[0])[::-1][:MAX_OPTIONS])
    assert any("catalyst (8 of 50)" in panel.title for panel in panels(chosen_picture(info)))


def test_rows_of_a_table_are_known_by_their_id() -> None:
    scene = made(TABLE, count=10)
    trials = shown_trials(scene)
    row = TABLE.encode(scene.trials[0].params)
    assert trials.ids[0] == TABLE.decode(row)["sample"]
    assert f"({trials.ids[0]})" in trials.texts(np.ones(10, dtype=bool))[0]
    assert in_words(TABLE, row).startswith(f"sample = {trials.ids[0]}, solvent = ")
    assert "remark" not in in_words(TABLE, row)
    assert "sample" not in slices(scene, points=3, plane=3)[0].frame().held
    info = decided_info(scene, draws=4, points=5, plane=4)
    assert isinstance(info, ChosenInfo)
    assert info.labels == (TABLE.decode(scene.action[0])["sample"],)
    assert [axis.title for axis in info.parameters] == ["solvent", "ratio", "age"]
    [table] = [each for row_ in decided_picture(info).rows for each in row_ if isinstance(each, Table)]
    assert table.columns[:4] == ("", "solvent", "ratio", "age")
    assert table.rows[0][:2] == (info.labels[0], TABLE.decode(scene.action[0])["solvent"])


def test_labels_over_options_are_those_of_the_decision() -> None:
    scene = made(REACTION, he.LevelSets([1.0, 2.0]), count=10)
    info = decided_info(scene, points=5, plane=4)
    assert isinstance(info, LevelsInfo)
    for view in info.views:
        there = np.isfinite(view.labels)
        assert (there == np.isfinite(view.ground.mean)).all()
        assert (view.labels[there] == (view.ground.mean[..., None] > np.array([1.0, 2.0])).sum(-1)[there]).all()
        stepped = any(axis.names or axis.ticks for axis in view.ground.axes)
        assert not (stepped and any(view.boundaries))
    heats = [mark for panel in panels(decided_picture(info)) for mark in panel.marks if isinstance(mark, Heat)]
    assert heats
    assert all(heat.names for heat in heats)


def test_the_places_of_the_maximum_are_counted_by_option() -> None:
    scene = made(REACTION, he.Identify("argmax", candidates=40), count=10)
    info = decided_info(scene)
    assert isinstance(info, PlacesInfo)
    assert isinstance(scene.decision, he.Identify)
    chances = scene.action.numpy()
    ligands = [REACTION.decode(row)["ligand"] for row in scene.decision.settled_points]
    by_hand = [sum(p for p, own in zip(chances, ligands, strict=True) if own == name) for name in LIGANDS]
    np.testing.assert_allclose(info.marginals[0], by_hand, atol=1e-12)
    for pair in info.maps:
        np.testing.assert_allclose(pair.z.sum(0), info.marginals[pair.across], atol=1e-12)
        np.testing.assert_allclose(pair.z.sum(1), info.marginals[pair.up], atol=1e-12)
    table = next(each for row in decided_picture(info).rows for each in row if isinstance(each, Table))
    assert table.rows[0][0] in LIGANDS


def test_gains_are_those_of_designs_that_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse(monkeypatch)
    scene = made(REACTION, count=10)
    info = why_info(scene, numbers=1e6)
    assert info.target is not None
    design = REACTION.decode(torch.from_numpy(info.target.design))
    assert f"ligand = {design['ligand']}" in info.target.words
    blank = 0
    for view in info.slices:
        for place, gain in np.ndenumerate(view.gains):
            params = dict(design)
            for index, axis, grid, at in zip(view.indices, view.axes, view.grids, reversed(place), strict=True):
                field = REACTION.fields[index]
                params[field.name] = field.options[at] if axis.names else float(grid[at])
            runs = params["temperature"] <= BOILING[params["solvent"]] + 1e-9
            assert np.isfinite(gain) == runs
            blank += not runs
    assert blank
    picture = why_picture(info)
    assert "left blank" in picture.caption
    marked = [mark for panel in panels(picture) for mark in panel.marks if getattr(mark, "role", None) is Role.PROPOSED]
    assert len(marked) == len(info.slices)


def test_trust_names_choices() -> None:
    scene = made(REACTION, count=10)
    info = predictions_info(scene)
    assert info.names == ("ligand", "temperature", "solvent", "loading")
    assert info.choices == ("ligand", "solvent")
    assert "For ligand and solvent, the range is" in trust_picture(info).caption


def test_what_is_decided_on_is_what_is_shown() -> None:
    space = he.Space(ligand=LIGANDS, t=he.Real(0.0, 9.0), fidelity=he.Levels([0.2, 1.0]))
    scene = made(space, decide_on={"fidelity": 1.0}, count=10)
    info = decided_info(scene, draws=8, points=5, plane=4)
    assert isinstance(info, ChosenInfo)
    assert info.chosen[0, 2] == 1.0
    assert set(info.spread[..., 2].ravel().tolist()) == {1.0}
    assert set(info.relevant) == {0, 1}
    known = known_info(scene, points=5, plane=4)
    assert any(2 in view.ground.indices for view in known.slices)  # but it is known at both


def test_data_from_outside_the_conditions_is_no_reference() -> None:
    study = he.Study(REACTION, he.LevelSets(1.0), seed=3, hyperparameters="map")
    for row in REACTION.sample(6, seed=5):
        params = REACTION.decode(row)
        study.attach({**params, "solvent": "THF", "temperature": 120.0}, value(params))
    reference = reference_design(scene_of(study))
    assert bool(REACTION.holds(reference))


def test_long_and_many_names_stay_readable() -> None:
    names = tuple(f"2-methyltetrahydrofuran number {k}" for k in range(20))
    panel = Panel(
        "",
        Axis("solvent", -0.5, 19.5, names=names),
        Axis("value"),
        (Dots(np.arange(20.0), np.arange(20.0), Role.MEAN),),
    )
    figure = draw(Picture("p", "", "", ((panel,),)))
    figure.canvas.draw()
    [axes] = figure.axes
    labels = axes.get_xticklabels()
    assert [len(label.get_text()) <= 18 for label in labels] == [True] * 20
    boxes = [label.get_window_extent() for label in labels]
    assert all(first.x1 <= second.x0 + 1.0 for first, second in itertools.pairwise(boxes))


def test_hovering_a_point_beside_an_option_tells_the_option() -> None:
    scene = made(SPACES["two choices"])
    found = checked(known_picture(known_info(scene)))
    [dots] = [trace for trace in found["data"] if trace["type"] == "scatter" and trace["xaxis"] == "x"]
    assert "ligand: %{customdata[0]}<br>solvent: %{customdata[1]}" in dots["hovertemplate"]
    told = [(trial.params["ligand"], trial.params["solvent"]) for trial in scene.trials]
    assert sorted(map(tuple, dots["customdata"])) == sorted(told)


def test_names_beside_a_panel_have_room() -> None:
    scene = made(SPACES["two choices"])
    found = checked(known_picture(known_info(scene)))
    first, second = (found["layout"][axis]["domain"] for axis in ("xaxis", "xaxis2"))
    [[before, between]] = found["layout"]["meta"]["across"]["gaps"]
    assert before == 0
    assert between == 35  # the names are those of the first
    assert not found["layout"]["yaxis2"]["showticklabels"]
    other = replace(panels(known_picture(known_info(scene)))[0], y=Axis("other", -0.5, 2.5, names=LIGANDS[1:]))
    apart = checked(Picture("p", "", "", ((panels(known_picture(known_info(scene)))[0], other),)))
    assert apart["layout"]["meta"]["across"]["gaps"][0][1] > 70  # what numbers take
    bar = found["layout"]["meta"]["across"]["bar"]
    room = 2 * 400 - found["layout"]["margin"]["l"] - found["layout"]["margin"]["r"]
    assert (second[0] - first[1]) * room == pytest.approx(between + bar, abs=1.0)
    spec = checked(Picture("p", "", "", ((panels(known_picture(known_info(scene)))[0],),)))
    assert spec["layout"]["xaxis"]["tickangle"] == -35  # the longest ligand has more than 12 letters
    assert spec["layout"]["margin"]["b"] > 58
