"""What is known, by value; and its picture for spaces of every kind."""

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs
from hentropy.views.plots.known import KnownInfo, known_info, known_picture
from hentropy.views.plots.marks import Band, Dots, Heat, Line, Mark, Panel, Picture, Role, Rule
from hentropy.views.plots.pictures import picture
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.slices import reference_design
from support.studies import LINE, MIXED, PLANE, begun

POOL = he.Pool([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.5], [2.5, 2.8]], names=["a", "b"])
FOUR = he.Space(**MIXED.parameters, w=he.Real(-1.0, 1.0))


def information(study: he.Study) -> KnownInfo:
    return known_info(scene_of(study), points=11, plane=5)


def marks(picture: Picture, kind: type[Mark]) -> list[Mark]:
    """All marks of a kind in a picture."""
    panels = [panel for row in picture.rows for panel in row if isinstance(panel, Panel)]
    return [mark for panel in panels for mark in panel.marks if isinstance(mark, kind)]


def pool_study() -> he.Study:
    made = he.Study(POOL, he.Maximize(), hyperparameters="map")
    made.attach_many([(POOL.decode(row), float(value)) for value, row in enumerate(POOL.points[:4])])
    return made


@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_it_is_what_the_belief_says_on_the_grid(treatment: str) -> None:
    study = begun(PLANE, hyperparameters=treatment)
    [view] = information(study).slices
    points = torch.tensor([[x, y] for y in view.ground.grids[1] for x in view.ground.grids[0]], dtype=torch.float64)
    mean, var = study.belief.moments(points, Needs.VARIANCE).total()
    np.testing.assert_allclose(view.ground.mean, mean.reshape(5, 5), rtol=1e-12)
    np.testing.assert_allclose(view.ground.sd, var.sqrt().reshape(5, 5), rtol=1e-12)


def test_the_bands_of_one_gaussian_process() -> None:
    [view] = information(begun(LINE)).slices
    for quantile, z in zip(view.ground.quantiles, (-1.959964, -0.6744898, 0.6744898, 1.959964), strict=True):
        np.testing.assert_allclose(quantile, view.ground.mean + z * view.ground.sd, rtol=1e-6)


def test_the_bands_of_a_mixture_hold_their_share_of_draws() -> None:
    study = begun(LINE, count=4, hyperparameters="mixture")
    [view] = information(study).slices
    draws = study.belief.sample(torch.from_numpy(view.ground.grids[0])[:, None], 20_000, 1).numpy()
    for quantile, share in zip(view.ground.quantiles, (0.025, 0.25, 0.75, 0.975), strict=True):
        np.testing.assert_allclose((draws <= quantile).mean(0)[view.ground.sd > 1e-3], share, atol=0.015)


def told_study() -> he.Study:
    """One trial of every kind: attached, first, proposed, failed, withdrawn, pending."""
    study = he.Study(LINE, he.Maximize(), first=2, hyperparameters="map", seed=1)
    study.tell(study.ask(), (1.0, 0.2))
    study.attach({"x": 2.0}, (0.5, 0.1))
    study.tell(study.ask(), (2.0, 0.3))
    study.tell(study.ask(), failed="spilled")
    study.withdraw(study.ask())
    study.ask()
    return study


def test_trials_by_kind() -> None:
    study = told_study()
    trials = information(study).trials
    assert trials.kinds == ("first", "attached", "proposed", "failed", "pending")
    assert trials.numbers == (0, 1, 2, 3, 5)
    np.testing.assert_array_equal(trials.values, [1.0, 0.5, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(trials.errors, [0.2, 0.1, 0.3, np.nan, np.nan])
    rows = torch.from_numpy(trials.designs)
    np.testing.assert_allclose(trials.expected, study.belief.moments(rows, Needs.VARIANCE).total()[0])
    assert trials.designs[:, 0].tolist() == [study.records[number].params["x"] for number in trials.numbers]


@pytest.mark.smoke
def test_the_picture_of_a_line() -> None:
    info = information(told_study())
    picture = known_picture(info)
    [[panel], [success]] = picture.rows
    assert isinstance(panel, Panel)
    assert isinstance(success, Panel)
    assert success.title == "probability of success along x"
    assert [mark.at for mark in success.marks if isinstance(mark, Rule)] == [0.5]
    outer, inner = (mark for mark in panel.marks if isinstance(mark, Band))
    assert bool((outer.low <= inner.low).all() & (inner.high <= outer.high).all())
    dots = {mark.role: mark for mark in panel.marks if isinstance(mark, Dots)}
    assert set(dots) == {Role.FIRST, Role.ATTACHED, Role.DATA, Role.FAILED, Role.PENDING}
    error = dots[Role.FIRST].error
    assert error is not None
    assert error.tolist() == [0.2]
    assert dots[Role.PENDING].y.tolist() == pytest.approx([info.trials.expected[-1]], rel=1e-9)
    assert dots[Role.FAILED].y.tolist() == [panel.y.low]
    assert "at the bottom" in picture.caption
    assert "3 measured values" in picture.caption


def test_the_picture_of_a_plane_has_two_maps_over_the_bounds() -> None:
    info = information(begun(PLANE))
    [[mean, sd]] = known_picture(info).rows
    assert isinstance(mean, Panel)
    assert isinstance(sd, Panel)
    assert mean.y.log
    assert (mean.x.low, mean.x.high) == (0.0, 5.0)
    first, second = (panel.marks[0] for panel in (mean, sd))
    assert isinstance(first, Heat)
    assert isinstance(second, Heat)
    np.testing.assert_array_equal(first.z, info.slices[0].ground.mean)
    np.testing.assert_array_equal(second.z, info.slices[0].ground.sd)
    assert first.z.shape == (len(first.y), len(first.x))


def test_more_parameters_are_slices_and_pairs_with_common_scales() -> None:
    info = information(begun(FOUR, count=9))
    picture = known_picture(info)
    *lines, means, spreads = picture.rows
    assert sum(map(len, lines)) == 4
    assert (len(means), len(spreads)) == (3, 3)
    heights = {(panel.y.low, panel.y.high) for row in lines for panel in row if isinstance(panel, Panel)}
    assert len(heights) == 1
    for row in (means, spreads):
        heats = [mark for panel in row if isinstance(panel, Panel) for mark in panel.marks if isinstance(mark, Heat)]
        assert len({(heat.low, heat.high) for heat in heats}) == 1
    steps = next(view for view in info.slices if view.ground.axes[0].title == "steps" and len(view.ground.axes) == 1)
    assert steps.ground.grids[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert all(line.dots == (len(line.x) == 6) for line in marks(picture, Line) if isinstance(line, Line))
    assert "fixes the others at" in picture.caption


def test_trials_are_drawn_on_the_slices_they_bear_on() -> None:
    """The kernel's correlation with the place on the slice decides: at the slice it is one, far away nearly zero."""
    study = begun(MIXED, count=9)
    scene = scene_of(study)
    [decided] = scene.action.tolist()
    study.attach({"x": 0.1, "rate": decided[1], "steps": round(decided[2])}, 0.0)
    scene = scene_of(study)
    info = known_info(scene, points=5, plane=3)
    reference = reference_design(scene)
    for view in info.slices:
        shown = torch.from_numpy(info.trials.designs).clone()
        others = [index for index in range(3) if index not in view.ground.indices]
        shown[:, others] = reference[others]
        belief = study.belief
        assert isinstance(belief, Gaussian)
        a, b = (belief.frame.transform(each) for each in (torch.from_numpy(info.trials.designs), shown))
        correlation = belief.kernel(a, b)[0].diagonal() / belief.kernel.diagonal(a)[0]
        assert view.near.tolist() == (correlation >= 0.9).tolist()
        # as far from the line as from what was expected of them
        mean = belief.moments(shown, Needs.MEAN).mean[0].numpy()
        np.testing.assert_allclose(view.heights - mean, info.trials.values - info.trials.expected, atol=1e-9)
        np.testing.assert_allclose(view.expected, mean)


def test_what_is_said_of_a_moved_trial_is_what_was_measured() -> None:
    info = information(begun(MIXED, count=9))
    said = {text for dots in marks(known_picture(info), Dots) if isinstance(dots, Dots) for text in dots.texts}
    assert said <= set(info.trials.texts(np.ones(9, dtype=bool)))
    assert not np.allclose(info.slices[0].heights, info.trials.values)


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(lambda: begun(LINE, count=1), id="one value"),
        pytest.param(pool_study, id="pool"),
        pytest.param(lambda: begun(MIXED), id="mixed"),
        pytest.param(lambda: begun(he.Space(x=he.Real(0, 5), n=he.Integer(1, 900, log=True)), count=5), id="integer"),
    ],
)
def test_pictures_of_every_kind_of_space_are_finite(study: object) -> None:
    picture = known_picture(information(study()))  # type: ignore[operator]
    for mark in [mark for kind in (Line, Band, Heat, Dots) for mark in marks(picture, kind)]:
        for name, value in vars(mark).items():
            if isinstance(value, np.ndarray):
                assert np.isfinite(value).all(), (mark, name)


@pytest.mark.parametrize(("log", "title"), [(False, "yield (%)"), (True, "ln yield")])
def test_axes_name_the_outcome_and_its_unit(log: bool, title: str) -> None:
    study = he.Study(
        he.Space(x=he.Real(0.0, 1.0)),
        he.Maximize(),
        outcomes={"yield": he.Outcome(unit="%", log=log)},
        hyperparameters="map",
        first=4,
    )
    for trial in study.ask_many(4):
        study.tell(trial, 1.0 + trial.params["x"] ** 2)
    scene = scene_of(study)
    [[known]] = picture(scene, "known").rows
    assert isinstance(known, Panel)
    assert (known.x.title, known.y.title) == ("x", title)
    trust = [panel for row in picture(scene, "trust").rows for panel in row if isinstance(panel, Panel)]
    assert (trust[0].x.title, trust[0].y.title) == (f"observed {title}", f"predicted {title}")
