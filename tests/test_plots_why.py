"""Why an experiment: gains, outcomes and what would be decided then, by value; pictures for every kind of decision."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.action_search import expected_loss
from hentropy.core.decisions import Solved, base_samples
from hentropy.core.entropy import entropy
from hentropy.core.gain import Appraisal, Effort, gain
from hentropy.core.predictions import predict
from hentropy.views.plots.gain_map import GRIDS, gain_map, quick, with_contenders
from hentropy.views.plots.marks import Bars, Dots, Heat, Panel, Role, Table
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.target import with_best_today
from hentropy.views.plots.why import decided_after, why_info, why_picture
from support.pictures import coarse, rough
from support.studies import DECISIONS, LINE, MIXED, PLANE, begun
from support.tiers import nightly

FOUR = he.Space(**MIXED.parameters, w=he.Real(-1.0, 1.0))
NONE = np.zeros((0, 1))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse(monkeypatch)


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


def bread(count: int = 11, **options: object) -> he.Study:
    """Three places far apart, one of the parameters whole: today's best action is hard to find."""
    space = he.Space(temperature=he.Real(20.0, 90.0), minutes=he.Integer(5, 60))
    study = he.Study(space, he.TopK(k=3, weight=2.0, cap=15.0), first=6, **options)  # type: ignore[arg-type]
    for row in space.sample(count, seed=0):
        params = space.decode(row)
        study.attach(params, 10 - ((params["temperature"] - 62) / 20) ** 2 - ((params["minutes"] - 33) / 15) ** 2)
    return study


@pytest.mark.parametrize("treatment", [nightly("map"), "mixture"])
def test_nothing_is_added_to_all_gains_where_the_best_action_is_hard_to_find(treatment: str) -> None:
    """At designs that are known there is nothing to gain, and at the target the map says what the audit says."""
    scene = scene_of(bread(hyperparameters=treatment))
    info = why_info(scene)
    target = info.target
    assert target is not None
    [view] = info.slices
    value = quick(with_contenders(scene.explained.appraisal, scene.explained.actions, 1e6))
    assert float(value(scene.belief.X.unsqueeze(1)).max()) < 0.1 * view.gains.max() or info.relative
    assert info.at_target is not None
    assert info.relative or 0.5 * target.gain - 2 * target.error < info.at_target < 2 * target.gain + 2 * target.error
    row, column = (int(np.flatnonzero(grid == at)[0]) for grid, at in zip(view.grids, target.design, strict=True))
    assert view.gains[column, row] == pytest.approx(info.at_target, rel=1e-3)  # differences of losses that are searched


@pytest.mark.parametrize(
    "name", ["top k", "own function, box", *map(nightly, ("maximize", "k guesses", "sequence", "own class"))]
)
def test_quick_gains_agree_with_a_long_audit(name: str) -> None:
    """With the actions that are best after outcomes, screening finds nearly what a search after each outcome finds."""
    scene = scene_of(begun(PLANE, DECISIONS[name], count=8, first=4))
    known = scene.explained
    x = PLANE.sample(8, 5).unsqueeze(1)
    audit = known.appraisal.audit(x, 99, Effort(replicates=4, outcomes=48, steps=16))
    reference = audit.gain.value
    before = (quick(known.appraisal)(x) - reference).abs().mean()
    error = (quick(with_contenders(known.appraisal, known.actions, 1e7))(x) - reference).abs().mean()
    assert error < 0.35 * reference.mean()
    # where the contenders have nearly all of the gain already, what differs is the error of the draws
    assert error < before + (0.08 if name == "own function, box" else 0.02) * reference.mean()


def test_the_gain_of_a_pending_experiment_adds_to_the_others() -> None:
    study = begun(PLANE, he.TopK(2), count=7, first=4)
    study.ask_many(2)
    scene = scene_of(study)
    target = why_info(scene, numbers=1.5e8).target
    assert target is not None
    assert target.number == 8
    other = scene.rows(scene.trials[7:8])
    appraisal = Appraisal.prepare(scene.decision, scene.belief, PLANE, pending=other, seed=scene.seed)
    appraisal, _ = with_best_today(appraisal, scene.rows(scene.trials[8:])[0])
    audited = appraisal.audit(scene.rows(scene.trials[8:]).unsqueeze(0), 5, Effort(replicates=8)).gain
    error = float(audited.std_error) + target.error
    assert target.gain == pytest.approx(float(audited.value), abs=4 * error)


def test_gains_that_do_not_agree_with_the_target_are_shares() -> None:
    """As if the target had been valued otherwise: what is drawn are shares, and the caption says so."""
    scene = scene_of(begun(PLANE, count=5, first=4))
    known = scene.explained
    assert known.target is not None
    other = replace(known, target=replace(known.target, gain=10 * known.target.gain))
    reference = torch.from_numpy(known.target.design)
    made = gain_map(scene, other, reference, NONE, numbers=6e7)
    assert made.relative
    assert made.slices[0].gains.max() == pytest.approx(1.0)
    assert made.at_target is not None
    assert 0.5 < made.at_target <= 1.0
    assert not gain_map(scene, known, reference, NONE, numbers=6e7).relative
    info = why_info(scene)
    assert "relative to the largest" not in why_picture(info).caption
    shown = why_picture(replace(info, relative=True, at_target=made.at_target))
    assert "relative to the largest" in shown.caption
    heat = shown.rows[0][0].marks[0]  # type: ignore[union-attr]
    assert isinstance(heat, Heat)
    assert "relative" in heat.label


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
    info = why_info(scene_of(study))
    target = info.target
    assert target is not None
    assert target.number is None
    assert target.is_next
    assert target.design.tolist() == proposal.x[0].tolist()
    assert target.gain == pytest.approx(proposal.gain, abs=4 * (target.error + proposal.std_error))
    assert "The next experiment (" in why_picture(info).caption
    assert why_picture(info).title == "Why this experiment"
    ended = why_picture(replace(info, target=replace(target, ended=True)))
    assert "The study has ended; another experiment (" in ended.caption
    assert ended.title == why_picture(replace(info, target=None)).title == "Where another experiment would help"
    assert study.ask().params == LINE.decode(torch.from_numpy(target.design))


def test_while_first_designs_are_due_the_best_by_gain_is_not_called_the_next() -> None:
    study = begun(LINE, count=2, first=6)
    info = why_info(scene_of(study))
    assert info.target is not None
    assert not info.target.is_next
    picture = why_picture(info)
    assert "The next ones fill the space (4 of 6 first designs are left); by gain it would be x =" in picture.caption
    labels = {mark.label for mark in picture.rows[0][0].marks if isinstance(mark, Dots)}  # type: ignore[union-attr]
    assert "best by gain" in labels
    assert "next experiment" not in labels
    asked = study.ask()
    assert asked.origin == "first"
    info = why_info(scene_of(study))
    assert info.target is not None
    assert (info.target.number, info.target.left) == (None, 3)
    assert info.target.design.tolist() != [asked.params["x"]]
    assert "Pending trial 2 was chosen to fill the space" in why_picture(info).caption


def test_a_pool_with_nothing_left_has_no_experiment_to_explain() -> None:
    pool = he.Pool([[0.0], [1.0], [2.0]])
    study = he.Study(pool, he.Maximize(), hyperparameters="map")
    study.attach_many([({"x1": float(x)}, (float(x), 0.0)) for x in range(3)])
    info = why_info(scene_of(study))
    assert info.target is None
    assert info.outcomes == ()
    assert "No experiments left" in why_picture(info).caption


def test_after_an_outcome_that_is_decided_what_the_conditioned_belief_says() -> None:
    study = begun(LINE, count=5, hyperparameters="mixture")
    scene = scene_of(study)
    info = why_info(scene)
    assert info.target is not None
    row = torch.from_numpy(info.target.design)
    assert [outcome.name for outcome in info.outcomes] == ["low", "middle", "high"]
    values = predict(scene.belief, "value", row[None], (0.1, 0.5, 0.9)).quantiles[:, 0]
    assert [outcome.value for outcome in info.outcomes] == values.tolist()
    for outcome in info.outcomes:
        after = scene.belief.condition(row[None], torch.tensor([outcome.value], dtype=torch.float64))
        found = entropy(scene.decision, after, LINE, seed=scene.seed)
        assert outcome.expected_loss <= found.value + 1e-12
        assert outcome.expected_loss == pytest.approx(found.value, abs=1e-3)


@pytest.mark.parametrize("name", [name if i % 2 else nightly(name) for i, name in enumerate(DECISIONS)])
def test_what_would_be_decided_is_never_worse_than_todays_action(name: str) -> None:
    scene = scene_of(begun(PLANE, DECISIONS[name], count=6))
    row = PLANE.sample(1, 3)[0]
    for value in predict(scene.belief, "value", row[None], (0.1, 0.9)).quantiles:
        belief = scene.belief.condition(row[None], value)
        found = decided_after(scene, belief)
        if isinstance(scene.decision, Solved):
            assert found.value == entropy(scene.decision, belief, PLANE, seed=scene.seed).value
            continue
        kept = _kept(scene, belief)
        assert found.value <= kept + 1e-9 + 4 * found.std_error


def test_todays_action_is_kept_where_the_search_finds_nothing_as_good() -> None:
    """Half a unit better than anything on record: only today's action can be what is decided."""
    scene = scene_of(bread(hyperparameters="map"))
    poor = entropy(scene.decision, scene.belief, scene.space, seed=3)
    best = torch.as_tensor(scene.explained.appraisal.search.best)
    good = decided_after(replace(scene, found=replace(poor, action=best)), scene.belief)
    assert good.value <= float(_kept(replace(scene, found=replace(poor, action=best)), scene.belief)) + 1e-9


def _kept(scene: Scene, belief: he.Belief) -> float:
    """The expected loss of staying with today's action."""
    decision = scene.decision
    points = torch.as_tensor(decision.points(scene.action)).to(belief.X)
    draws = base_samples(decision, 4096, points.shape[-2], 5).to(belief.X)
    return float(expected_loss(decision, belief.moments(points, decision.needs), scene.action, draws))


def test_options_after_the_outcomes_are_on_one_scale_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    rough(monkeypatch)
    scene = scene_of(begun(PLANE, DECISIONS["own function, options"], count=6))
    picture = why_picture(why_info(scene, numbers=6e7))
    after = picture.rows[-1]
    assert len(after) == 3
    assert all(isinstance(panel, Panel) for panel in after)
    panels = [panel for panel in after if isinstance(panel, Panel)]
    [(low, high)] = {(panel.y.low, panel.y.high) for panel in panels}
    heights = [mark.heights for panel in panels for mark in panel.marks if isinstance(mark, Bars)]
    assert low is not None
    assert high is not None
    assert low <= min(map(np.min, heights))
    assert high >= max(map(np.max, heights))


def test_the_grid_is_as_fine_as_the_work_allows_and_has_no_blanks() -> None:
    scene = scene_of(begun(PLANE, count=5))
    known = replace(scene.explained, target=None)
    reference = scene.action[0]
    coarse = gain_map(scene, known, reference, NONE, numbers=1.0)
    # the values of the reference are among those of the grid
    assert coarse.slices[0].gains.shape == (GRIDS[-1][1] + 1,) * 2
    assert np.isfinite(coarse.slices[0].gains).all()
    fine = gain_map(scene, known, reference, NONE, numbers=1e12)
    assert fine.slices[0].gains.shape == (GRIDS[0][1] + 1,) * 2
    assert np.isfinite(fine.slices[0].gains).all()


@pytest.mark.parametrize("name", ["level sets", nightly("top k"), nightly("identify argmax")])
def test_the_same_study_has_the_same_map_on_a_slow_machine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = why_info(scene_of(begun(PLANE, DECISIONS[name], count=6)), numbers=3e7)
    hours = itertools.count(0.0, 3600.0)
    with monkeypatch.context() as slow:
        for clock in ("monotonic", "process_time", "perf_counter", "time"):
            slow.setattr(f"time.{clock}", lambda: next(hours))
        second = why_info(scene_of(begun(PLANE, DECISIONS[name], count=6)), numbers=3e7)
    assert np.array_equal(first.slices[0].gains, second.slices[0].gains)
    assert first.target is not None
    assert second.target is not None
    assert first.target.gain == second.target.gain
    assert first.target.design.tolist() == second.target.design.tolist()


def test_only_what_counted_is_said_to_have_been_weighed() -> None:
    priced = begun(LINE, he.BestObserved(), count=5, cost=lambda x: 1.0 + x[..., 0, 0].square())
    assert "weighed against costs as well" in why_picture(why_info(scene_of(priced))).caption
    study = begun(LINE, he.BestObserved(), count=5, first=4, failures="ignore")
    assert "weighed" not in why_picture(why_info(scene_of(study))).caption
    study.tell(study.ask(), failed="broke")
    assert "weighed against failures as well" in why_picture(why_info(scene_of(study))).caption
    learning = begun(LINE, he.BestObserved(), count=5, first=4)
    learning.tell(learning.ask(), failed="broke")
    assert "weighed" not in why_picture(why_info(scene_of(learning))).caption  # the gain itself counts failures


def test_slices_pass_through_the_experiment() -> None:
    scene = scene_of(begun(FOUR, he.BestObserved(), count=9))
    info = why_info(scene)
    assert info.target is not None
    decoded = FOUR.decode(torch.from_numpy(info.target.design))
    lines = [view for view in info.slices if len(view.axes) == 1]
    assert len(lines) == 4
    for view in lines:
        for name in FOUR.names:
            assert (f"{name} = {decoded[name]:.3g}"[:-1] in view.held) == (name != view.axes[0].title)


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
