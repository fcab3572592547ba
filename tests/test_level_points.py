"""Conservative level sets, weights of points, and points that are chosen for a belief about many parameters."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.decisions.level_sets import FEW_PARAMETERS, FILLING_CANDIDATES
from hentropy.core.decisions.stand_ins import EVEN, chances, stand_ins
from hentropy.core.entropy import check_fit
from hentropy.studies.definition import decision_of, describe
from hentropy.views.plots.levels import levels_info, levels_picture
from hentropy.views.plots.scene import scene_of
from support.beliefs import designs, gaussian, tensor
from support.decisions import SPACE

WIDE = he.Space.box([0.0] * 5, [1.0] * 5)
POINTS = designs(30, seed=21)


def hills(x: Tensor) -> Tensor:
    return torch.sin(5.0 * x[..., 0]) + x[..., 1] + x[..., 2] * x[..., 3]


def wide_belief(hyperparameters: Any = "mixture", n: int = 25) -> he.Belief:
    X = WIDE.sample(n, 4)
    return he.fit(X, hills(X), hyperparameters=hyperparameters, draws=3)


@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.9, 0.99])
def test_labels_say_above_where_the_mixture_is_as_sure(confidence: float, H: int) -> None:
    """The probability is that of all components together, counted by draws."""
    belief = gaussian(H)
    found = he.entropy(he.LevelSets([3.0, 4.5], at=POINTS, confidence=confidence), belief, SPACE)
    draws = belief.sample(POINTS, 40_000, seed=1)
    for row, threshold in zip(found.action, (3.0, 4.5), strict=True):
        share = (draws > threshold).double().mean(0)
        clear = (share - confidence).abs() > 0.015
        assert int(clear.sum()) > 10
        assert torch.equal(row[clear] > 0.5, share[clear] >= confidence)


@pytest.mark.parametrize("H", [1, 3])
def test_no_other_labels_have_a_smaller_expected_loss(H: int) -> None:
    """All 2^6 labels of six points, their losses averaged over draws: 19 for a false "above", 1 for a false "below"."""
    belief, at = gaussian(H), POINTS[:6]
    decision = he.LevelSets(4.0, at=at, confidence=0.95)
    found = he.entropy(decision, belief, SPACE)
    values = belief.sample(at, 40_000, seed=2)
    above = values > 4.0
    every = torch.cartesian_prod(*[tensor([0.0, 1.0])] * 6)
    wrong = torch.where(above.unsqueeze(1), 1.0 - every, 19.0 * every).sum(-1)  # draws x 64
    torch.testing.assert_close(decision.loss(values[:5, None], every.unsqueeze(-2)), wrong[:5])
    losses, errors = wrong.mean(0), wrong.std(0) / len(wrong) ** 0.5
    own = int((every == found.action).all(-1).nonzero())
    slack = 5.0 * float(errors[own])
    assert found.value == pytest.approx(float(losses[own]), abs=slack)
    assert float(losses[own]) <= float(losses.min()) + slack


def test_a_half_is_the_loss_of_wrong_labels() -> None:
    belief, x = gaussian(3), designs(4, 1, seed=3)
    half, labels = he.LevelSets(4.0, POINTS, confidence=0.5), he.LevelSets(4.0, POINTS, "misclassification")
    assert he.entropy(half, belief, SPACE).value == pytest.approx(he.entropy(labels, belief, SPACE).value)
    torch.testing.assert_close(he.gain(half, belief, x, SPACE).value, he.gain(labels, belief, x, SPACE).value)


def test_the_conservative_set_grows_with_what_is_known_and_shrinks_with_the_confidence() -> None:
    belief = gaussian(3)
    shares = [
        he.entropy(he.LevelSets(3.5, POINTS, confidence=c), belief, SPACE).action.mean() for c in (0.5, 0.9, 0.99)
    ]
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.covering
@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("options", [{}, {"relation": "misclassification"}, {"confidence": 0.9}])
def test_a_weight_is_so_many_copies_of_a_point(options: dict[str, Any], H: int) -> None:
    belief, x = gaussian(H), designs(4, 2, seed=3)
    weighted = he.LevelSets([3.0, 4.5], POINTS[:3], weights=[1.0, 3.0, 2.0], **options)
    copied = he.LevelSets([3.0, 4.5], POINTS[[0, 1, 1, 1, 2, 2]], **options)
    assert he.entropy(weighted, belief, SPACE).value == pytest.approx(he.entropy(copied, belief, SPACE).value)
    found, expected = he.gain(weighted, belief, x, SPACE).value, he.gain(copied, belief, x, SPACE).value
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


def test_weights_of_rows_of_a_pool_and_of_nothing() -> None:
    pool = he.Pool(POINTS)
    assert he.entropy(he.LevelSets(4.0, weights=[1.0] * 30), gaussian(1), pool).value == pytest.approx(
        he.entropy(he.LevelSets(4.0), gaussian(1), pool).value
    )
    with pytest.raises(he.InputError, match="31 weights and 30 points"):
        he.LevelSets(4.0, weights=[1.0] * 31).within(pool)
    with pytest.raises(he.InputError, match="say which, with at="):
        he.LevelSets(4.0, weights=[1.0] * 30).within(SPACE)


def some_stakes(zeros: int = 0) -> Tensor:
    stake = torch.rand(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 6
    stake[:zeros] = 0.0
    return stake


def level_of(stake: Tensor) -> Tensor:
    """On which side a point lies, and how far from the boundary."""
    side = torch.where(torch.arange(len(stake)) % 3 == 0, 1.0, -1.0)
    return side * (1.0 - stake)


@pytest.mark.parametrize("zeros", [0, 150, 195, 200])
def test_stand_ins_are_different_points_taken_by_their_chances(zeros: int) -> None:
    stake = some_stakes(zeros)
    pi = chances(stake, 20)
    assert float(pi.sum()) == pytest.approx(20.0)
    assert float(pi.max()) <= 1.0
    index, weights = stand_ins(stake, level_of(stake), 20)
    assert len(set(index.tolist())) == 20
    torch.testing.assert_close(weights, 20 / (200 * pi[index]))
    assert float(weights.max()) <= 1.0 / EVEN + 1e-9
    if 0 < zeros < 200:
        assert float(stake[index].mean()) > float(stake.mean())


def test_sums_over_stand_ins_are_those_of_even_points_on_average() -> None:
    """Over all starts the average is exact: the sum of any values over all 200 points, times 20 / 200."""
    stake, values = some_stakes(), torch.randn(200, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    starts = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    sums = [
        float(weights @ values[index])
        for index, weights in (stand_ins(stake, level_of(stake), 20, float(s)) for s in starts)
    ]
    assert sum(sums) / len(sums) == pytest.approx(float(values.sum()) * 20 / 200, abs=2e-3)


def test_few_points_stand_for_themselves() -> None:
    index, weights = stand_ins(some_stakes(), some_stakes(), 300)
    assert index.tolist() == list(range(200))
    assert weights.tolist() == pytest.approx([1.5] * 200)


@pytest.mark.covering
@pytest.mark.parametrize("hyperparameters", ["map", "mixture"])
@pytest.mark.parametrize("options", [{}, {"relation": "misclassification"}, {"confidence": 0.9}])
def test_chosen_points_say_what_all_candidates_say(options: dict[str, Any], hyperparameters: str) -> None:
    """Entropy and gains of 512 weighted points against those of all candidates, 16 times as many.

    Gains at a design hang on the points near it. Those of 512 even points are off by 30 to 60 % (root mean square).
    """
    belief, level = wide_belief(hyperparameters), 1.2
    every = he.LevelSets(level, WIDE.sample(FILLING_CANDIDATES, 0), **options)
    now = he.entropy(he.LevelSets(level, **options), belief, WIDE)
    share = 512 / FILLING_CANDIDATES
    everywhere = he.entropy(every, belief, WIDE)
    assert now.value == pytest.approx(share * everywhere.value, rel=0.05)
    assert isinstance(now.decision, he.LevelSets)
    weights = now.decision.weights
    assert weights is not None
    assert float((now.action @ weights / weights.sum()).sum()) == pytest.approx(
        float(everywhere.action.mean()), abs=0.03
    )
    x = WIDE.sample(24, 9)
    found, expected = (he.gain(each, belief, x, WIDE).value for each in (he.LevelSets(level, **options), every))
    off = found / (share * expected) - 1.0
    assert float(off.square().mean().sqrt()) < (0.4 if "confidence" in options else 0.2)
    assert float(found.sum()) == pytest.approx(share * float(expected.sum()), rel=0.2)


def test_chosen_points_lie_where_labels_are_open_and_move_with_the_belief() -> None:
    decision = he.LevelSets(1.2, relation="misclassification")
    early, late = wide_belief("map", 15), wide_belief("map", 60)
    chosen = {name: check_fit(decision, belief, WIDE)[0] for name, belief in (("early", early), ("late", late))}
    candidates = decision.settled(at=WIDE.sample(FILLING_CANDIDATES, 0))
    for name, belief in (("early", early), ("late", late)):
        settled = chosen[name]
        assert isinstance(settled, he.LevelSets)
        assert settled.settled_points.shape == (512, 5)
        own, all_of_them = (
            each.settled(weights=None).at_stake(belief.moments(each.settled_points, he.Needs.VARIANCE)).mean()
            for each in (settled, candidates)
        )
        assert float(own) > 1.3 * float(all_of_them)
    assert not torch.equal(chosen["early"].settled_points, chosen["late"].settled_points)  # type: ignore[attr-defined]


def test_all_who_speak_of_a_belief_speak_of_the_same_points() -> None:
    belief = wide_belief("map")
    first, again = (check_fit(he.LevelSets(1.2), belief, WIDE)[0] for _ in range(2))
    assert first is again
    assert he.entropy(he.LevelSets(1.2), belief, WIDE).decision is first
    other = check_fit(he.LevelSets(1.3), belief, WIDE)[0]
    assert not torch.equal(other.settled_points, first.settled_points)  # type: ignore[attr-defined]
    fresh = check_fit(he.LevelSets(1.2), wide_belief("map"), WIDE)[0]
    torch.testing.assert_close(fresh.settled_points, first.settled_points)  # type: ignore[attr-defined]


def test_points_are_not_chosen_where_there_are_few_parameters_or_somebody_gave_them() -> None:
    small = he.Space.box([0.0] * FEW_PARAMETERS, [1.0] * FEW_PARAMETERS)
    settled = he.LevelSets(1.2).within(small)
    torch.testing.assert_close(settled.settled_points, small.sample(512, 0))
    assert settled.weights is None
    rows = WIDE.sample(20, 2)
    assert he.LevelSets(1.2).within(he.Pool(rows)).settled_points.shape == (20, 5)
    assert torch.equal(he.LevelSets(1.2, at=rows).within(WIDE).settled_points, rows)


def wide_study(decision: he.Decision, n: int = 14) -> he.Study:
    study = he.Study(WIDE, decision, hyperparameters="map")
    study.attach_many([(WIDE.decode(row), float(hills(row))) for row in WIDE.sample(n, 4)])
    return study


def test_a_study_decides_and_asks_about_chosen_points() -> None:
    study = wide_study(he.LevelSets(1.2, confidence=0.9))
    verdict = study.decide()
    assert verdict.headline.startswith("The value is above 1.2 with at least 90 % probability on ")
    assert " of the space (512 points stand for it); another " in verdict.headline
    assert len(verdict.action) == 512
    assert {"level", "weight"} < set(verdict.columns)
    assert any("chosen again after each outcome" in note for note in study.notes)
    trial = study.ask()
    assert trial.gain is not None
    assert trial.gain > 0.0
    again = wide_study(he.LevelSets(1.2, confidence=0.9)).ask()
    assert list(again.params.values()) == pytest.approx(list(trial.params.values()), abs=1e-6)


def test_the_headline_of_a_conservative_set_says_shares_of_points() -> None:
    points = WIDE.sample(40, 1)
    study = wide_study(he.LevelSets([0.8, 1.2], at=points, confidence=0.975))
    verdict = study.decide()
    draws = study.belief.sample(points, 20_000, seed=3)
    low, high = (((draws > level).double().mean(0) >= 0.975).double().mean() for level in (0.8, 1.2))
    said = re.fullmatch(
        r"The value is above 0\.8 with at least 97\.5 % probability at (\d+) %,"
        r" above 1\.2 with at least 97\.5 % probability at (\d+) % of 40 points;"
        r" another (\d+) %, (\d+) % are more likely above than not\.",
        verdict.headline,
    )
    assert said is not None, verdict.headline
    assert [int(said[1]), int(said[2])] == pytest.approx([100 * float(low), 100 * float(high)], abs=6)
    weighted = wide_study(he.LevelSets(0.8, at=points, weights=[1.0] * 39 + [0.5])).decide()
    assert " of 40 points by weight; " in weighted.headline


def test_pictures_of_a_conservative_set_use_its_probability() -> None:
    grid = torch.linspace(0.0, 1.0, 5, dtype=torch.float64)
    line = he.Space(x=he.Real(0.0, 1.0))
    study = he.Study(line, he.LevelSets(0.3, grid.unsqueeze(-1), confidence=0.9), hyperparameters="map")
    study.attach_many([({"x": x}, x) for x in (0.05, 0.4, 0.45, 0.95)])
    info = levels_info(scene_of(study), points=5)
    assert info.views[0].labels.tolist() == info.labels.tolist()
    assert (info.views[0].above[0] >= 0.9).astype(int).tolist() == info.labels.tolist()
    assert "with at least 90 % probability" in levels_picture(info).caption
    assert info.needed == 0.9


def test_study_files_say_the_confidence_and_the_weights() -> None:
    decision = he.LevelSets([0.5], at=[[0.1], [0.2]], confidence=0.9, weights=[1.0, 2.0])
    words = describe("lab", he.Space(x=he.Real(0.0, 1.0)), decision)
    dumped = words.model_dump()["decision"]
    assert (dumped["confidence"], dumped["weights"], dumped["relation"]) == (0.9, (1.0, 2.0), "difference")
    again = decision_of(words, False)
    assert repr(again) == repr(decision)
    assert "relation='misclassification', confidence=0.9, weights=2 numbers" in repr(decision)


def test_shares_of_chosen_points_are_shares_of_the_space() -> None:
    info = levels_info(scene_of(wide_study(he.LevelSets(1.2))), points=5, plane=5)
    assert info.counts.sum() == pytest.approx(512)
    truth = float((hills(WIDE.sample(4096, 3)) > 1.2).double().mean())
    assert info.counts[1] / 512 == pytest.approx(truth, abs=0.2)
