"""Why an experiment: gains, outcomes and what would be decided then, by value; pictures for every kind of decision."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.beliefs import Gaussian, Needs
from hentropy.entropy import entropy
from hentropy.gain import Appraisal, Effort, gain
from hentropy.plots.gain_map import GRIDS, gain_map, gain_ways
from hentropy.plots.marks import Dots, Heat, Panel, Role, Table
from hentropy.plots.scene import scene_of
from hentropy.plots.why import outcome_quantiles, why_info, why_picture
from hentropy.records import State
from hentropy.solvers.propose import AUDIT_SEED
from support.studies import DECISIONS, LINE, MIXED, PLANE, begun

FOUR = he.Space(**MIXED.parameters, w=he.Real(-1.0, 1.0))
NONE = np.zeros((0, 1))


def test_gains_on_a_line_are_the_exact_ones() -> None:
    """On a pool, maximising with one GP has a closed form: the quick gain is the audited one."""
    pool = he.Pool(torch.linspace(-1.0, 3.0, 7, dtype=torch.float64)[:, None], names=["x"])
    study = he.Study(pool, he.Maximize(), hyperparameters="map")
    study.attach_many(
        [({"x": float(x)}, float(value)) for x, value in zip(pool.points[::2, 0], (0, 2, 1), strict=False)]
    )
    scene = scene_of(study)
    info = why_info(scene)
    [view] = info.slices
    designs = torch.from_numpy(view.grids[0])[:, None]
    expected = gain(scene.decision, scene.belief, designs, pool, seed=scene.seed)
    assert expected.exact
    np.testing.assert_allclose(view.gains, expected.value, atol=1e-12)
    assert info.target is not None
    assert info.target.gain == pytest.approx(float(expected.value[np.isclose(view.grids[0], info.target.design[0])][0]))


@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_gains_on_a_plane_are_those_of_an_appraisal_with_what_is_pending(treatment: str) -> None:
    study = begun(PLANE, he.TopK(2), count=7, hyperparameters=treatment, first=4)
    study.ask_many(2)
    scene = scene_of(study)
    info = why_info(scene, seconds=0.5)
    assert info.target is not None
    assert info.target.number == 8
    other = scene.rows(scene.trials[7:8])
    appraisal = Appraisal.prepare(scene.decision, scene.belief, PLANE, pending=other, seed=scene.seed)
    audited = appraisal.audit(scene.rows(scene.trials[8:]).unsqueeze(0), scene.seed + AUDIT_SEED).gain
    assert info.target.gain == pytest.approx(float(audited.value))
    [view] = info.slices
    rows, columns = view.gains.shape
    picked = [(0, 0), (rows // 2, columns // 3), (rows // 2, columns - 1)]
    x = torch.tensor([[view.grids[0][i], view.grids[1][j]] for j, i in picked], dtype=torch.float64).unsqueeze(1)
    found = np.array([view.gains[j, i] for j, i in picked])
    # which way was taken depends on the speed of the machine; audits share the best action of today among neighbours
    finite = np.isfinite(found)
    assert finite[0]
    assert any(np.allclose(found[finite], way(x)[finite], rtol=0.05, atol=2e-3) for way in gain_ways(appraisal))
    torch.testing.assert_close(gain_ways(appraisal)[0](x), appraisal.screen(x, appraisal.nodes(64, 1)))


def test_with_time_the_gain_on_a_line_is_that_of_the_experiment_itself() -> None:
    """The most careful way values designs as the pending experiment is valued: the line passes through it."""
    space = he.Space(n=he.Integer(1, 12))
    study = he.Study(space, he.Maximize(), first=3, hyperparameters="map")
    study.attach_many([({"n": n}, value) for n, value in ((1, 0.0), (4, 1.0), (7, 0.8), (12, 0.1))])
    study.ask()
    info = why_info(scene_of(study), seconds=60.0)
    assert info.target is not None
    assert not info.quick
    [view] = info.slices
    [there] = view.gains[view.grids[0] == info.target.design[0]]
    assert there == pytest.approx(info.target.gain, abs=3 * info.target.error + 1e-9)


def test_more_care_finds_more_gain() -> None:
    """Screening chooses among few actions; an audit improves them, and agrees with a long one."""
    scene = scene_of(begun(PLANE, he.TopK(3), count=8))
    appraisal = Appraisal.prepare(scene.decision, scene.belief, PLANE, seed=scene.seed)
    x = PLANE.sample(12, 5).unsqueeze(1)
    reference = appraisal.audit(x, 99, Effort(replicates=4, outcomes=48, steps=16)).gain.value
    errors = [float((way(x) - reference).abs().mean()) for way in gain_ways(appraisal)]
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < 0.7 * errors[0]


def test_nothing_is_gained_where_the_value_is_known() -> None:
    study = he.Study(LINE, he.Maximize(), hyperparameters="map")
    places = [-1.0, -0.2, 1.0, 2.2, 3.0]
    study.attach_many([({"x": x}, (float(np.sin(2 * x)), 0.0)) for x in places])
    [view] = why_info(scene_of(study)).slices
    at = [int(np.abs(view.grids[0] - x).argmin()) for x in places]
    assert np.abs(view.gains[at]).max() < 1e-3 * view.gains.max()


def test_without_a_pending_proposal_the_next_one_is_explained() -> None:
    study = begun(LINE)
    proposal = study.propose()
    target = why_info(scene_of(study)).target
    assert target is not None
    assert target.number is None
    assert target.design.tolist() == proposal.x[0].tolist()
    assert (target.gain, target.error) == (proposal.gain, proposal.std_error)


def test_a_pending_first_design_is_not_what_is_explained() -> None:
    study = begun(LINE, count=2, first=6)
    asked = study.ask()
    assert asked.origin == "first"
    target = why_info(scene_of(study)).target
    assert target is not None
    assert target.number is None
    assert target.design.tolist() != [asked.params["x"]]


def test_a_pool_with_nothing_left_has_no_experiment_to_explain() -> None:
    pool = he.Pool([[0.0], [1.0], [2.0]])
    study = he.Study(pool, he.Maximize(), hyperparameters="map")
    study.attach_many([({"x1": float(x)}, (float(x), 0.0)) for x in range(3)])
    info = why_info(scene_of(study))
    assert info.target is None
    assert info.outcomes == ()
    assert "No experiment is left" in why_picture(info).caption


def test_outcomes_of_one_gaussian_process_are_normal_with_the_noise() -> None:
    study = begun(LINE, count=5)
    row = torch.tensor([2.4], dtype=torch.float64)
    mean, var = study.belief.moments(row[None], Needs.VARIANCE).total()
    sd = float(var + study.belief.noise_std**2) ** 0.5
    found = outcome_quantiles(study.belief, row, (0.1, 0.5, 0.9))
    step = 1.2815515655446004
    assert found.tolist() == pytest.approx([float(mean) - step * sd, float(mean), float(mean) + step * sd], rel=1e-9)


def test_outcomes_of_a_mixture_have_their_share_below() -> None:
    study = begun(LINE, count=4, hyperparameters="mixture")
    belief = study.belief
    assert isinstance(belief, Gaussian)
    row = torch.tensor([2.4], dtype=torch.float64)
    draws = torch.cat(
        [
            belief.component(h).sample(row[None], 20_000, h)[:, 0]
            + belief.component(h).noise_std * torch.randn(20_000, generator=torch.Generator().manual_seed(h))
            for h in range(belief.components)
        ]
    )
    weights = belief.weights.repeat_interleave(20_000) / 20_000
    for value, share in zip(outcome_quantiles(belief, row, (0.1, 0.5, 0.9)), (0.1, 0.5, 0.9), strict=True):
        assert float(weights[draws <= value].sum()) == pytest.approx(share, abs=0.005)


def test_after_an_outcome_that_is_decided_what_the_conditioned_belief_says() -> None:
    study = begun(LINE, count=5, hyperparameters="mixture")
    scene = scene_of(study)
    info = why_info(scene)
    assert info.target is not None
    row = torch.from_numpy(info.target.design)
    assert [outcome.name for outcome in info.outcomes] == ["low", "middle", "high"]
    values = outcome_quantiles(scene.belief, row, (0.1, 0.5, 0.9))
    assert [outcome.value for outcome in info.outcomes] == values.tolist()
    for outcome in info.outcomes:
        after = scene.belief.condition(row[None], torch.tensor([outcome.value], dtype=torch.float64))
        found = entropy(scene.decision, after, LINE, seed=scene.seed)
        assert outcome.expected_loss == found.value
        assert outcome.decided.chosen.tolist() == found.action.tolist()  # type: ignore[union-attr]


def test_too_little_time_gives_a_coarse_grid_and_leaves_blanks() -> None:
    scene = scene_of(begun(PLANE, count=5))
    appraisal = Appraisal.prepare(scene.decision, scene.belief, PLANE, seed=scene.seed)
    reference = scene.action[0]
    coarse = gain_map(scene, appraisal, reference, NONE, seconds=1e-6)
    assert coarse.quick
    assert coarse.slices[0].gains.shape == (GRIDS[-1][1],) * 2
    assert np.isnan(coarse.slices[0].gains).all()
    fine = gain_map(scene, appraisal, reference, NONE, seconds=120.0)
    assert not fine.quick
    assert fine.slices[0].gains.shape == (GRIDS[0][1],) * 2
    assert np.isfinite(fine.slices[0].gains).all()


def test_blanks_are_said_in_the_caption() -> None:
    info = why_info(scene_of(begun(PLANE, count=5)), seconds=1e-6)
    assert "blank" in why_picture(info).caption
    assert "blank" not in why_picture(why_info(scene_of(begun(LINE, count=5)))).caption


def test_a_cost_is_said_to_have_been_weighed() -> None:
    study = begun(LINE, count=5, cost=lambda x: 1.0 + x[..., 0, 0].square())
    assert "weighed against costs" in why_picture(why_info(scene_of(study))).caption


def test_slices_pass_through_the_experiment() -> None:
    scene = scene_of(begun(FOUR, count=9))
    info = why_info(scene)
    assert info.target is not None
    decoded = FOUR.decode(torch.from_numpy(info.target.design))
    lines = [view for view in info.slices if len(view.axes) == 1]
    assert len(lines) == 4
    for view in lines:
        for name in FOUR.names:
            assert (f"{name} = {decoded[name]:.4g}" in view.held) == (name != view.axes[0].title)


def test_the_picture_marks_the_experiment_and_puts_outcomes_side_by_side() -> None:
    study = begun(PLANE, count=7, first=4)
    study.ask()
    info = why_info(scene_of(study))
    picture = why_picture(info)
    [[gains, table], after] = picture.rows
    assert isinstance(gains, Panel)
    [marked] = [mark for mark in gains.marks if isinstance(mark, Dots) and mark.role is Role.PROPOSED]
    assert info.target is not None
    assert [marked.x[0], marked.y[0]] == info.target.design.tolist()
    assert not [mark for mark in gains.marks if isinstance(mark, Dots) and mark.role is Role.PENDING]
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["low", "middle", "high"]
    assert [panel.title.split(":")[0] for panel in after] == ["low", "middle", "high"]
    heats = [mark for panel in after if isinstance(panel, Panel) for mark in panel.marks if isinstance(mark, Heat)]
    assert len(heats) == 3
    assert len({(heat.low, heat.high) for heat in heats}) == 1
    assert "Trial 7" in picture.caption


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_has_its_picture(name: str) -> None:
    scene = scene_of(begun(PLANE, DECISIONS[name], count=5))
    target = scene.space.sample(1, 3)
    trial = replace(scene.trials[0], number=5, params=PLANE.decode(target[0]), state=State.RUNNING, value=None)
    scene = replace(scene, trials=(*scene.trials, replace(trial, origin="proposed")))
    picture = why_picture(why_info(scene, seconds=0.05))
    assert len(picture.rows) >= 2
    assert len(picture.rows[-1]) == 3


@pytest.mark.parametrize("space", [LINE, MIXED, FOUR], ids=["line", "mixed", "four"])
def test_every_kind_of_space_has_its_picture(space: he.Space) -> None:
    picture = why_picture(why_info(scene_of(begun(space, count=6)), seconds=0.5))
    assert picture.rows
