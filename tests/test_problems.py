"""Problems: values by hand or by other code, and the best that is claimed for each."""

import importlib
import math
import pickle
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from botorch.test_functions.synthetic import WeldedBeamSO
from scipy.stats import multivariate_normal
from torch import Tensor

import hentropy as he
from experiments.problems import optima
from experiments.problems.subsets import BranchAndBound, best_subset
from hentropy.bench import problems
from hentropy.bench.problems import (
    PROBLEMS,
    Multihills,
    Problem,
    UnitL1,
    alpine,
    multihills_level,
    multihills_levels,
    multihills_sequence,
    problem,
    standard,
    two_fidelities,
    vaccination,
)

DOCUMENT = Path(__file__).parents[1] / "docs" / "problems.md"
SHIPPED = sorted(PROBLEMS)
SEARCHED = [name for name in SHIPPED if "top" in name]
SEQUENCES = [name for name in SHIPPED if name.endswith("sequence")]
CONTINUOUS = [name for name in SEARCHED if name.startswith(("alpine", "styblinski", "vaccination"))]
LISTED = [name for name in SEARCHED if name.startswith(("fullerenes", "photo"))]


def best(made: Problem) -> tuple[float, Tensor]:
    """The least loss and the action that has it."""
    assert made.best is not None
    assert made.best.action is not None
    return made.best.loss, made.best.action


def test_alpine_is_its_formula() -> None:
    problem = alpine(2)
    by_hand = 0.05 * sum(abs(2 * x * math.sin(2 * x) + 0.2 * x) for x in (1.0, 4.0))
    assert problem.at(x1=1.0, x2=4.0) == pytest.approx(by_hand, rel=1e-12)
    assert float(problem(torch.tensor([1.0, 4.0], dtype=torch.float64))) == pytest.approx(by_hand, rel=1e-12)


def test_alpine_takes_batches() -> None:
    problem = alpine(3)
    x = problem.space.sample(6, 0)
    torch.testing.assert_close(problem(x.reshape(2, 3, 3)), problem(x).reshape(2, 3), rtol=1e-12, atol=0)
    assert problem.space.names == ("x1", "x2", "x3")
    assert problem.space.bounds.tolist() == [[0.0] * 3, [5.0] * 3]


def test_alpine_needs_a_parameter() -> None:
    with pytest.raises(he.InputError, match="got d = 0"):
        alpine(0)


@pytest.mark.parametrize("make", [multihills_level, multihills_levels, multihills_sequence])
def test_multihills_are_weighted_normal_densities(make: Callable[[], Problem]) -> None:
    hills = make().function
    assert isinstance(hills, Multihills)
    x = make().space.sample(50, 0)
    parts = [multivariate_normal(c, 0.2**2).pdf(x.numpy()) for c in hills.centres]
    expected = sum(w * part for w, part in zip(hills.weights, parts, strict=True))
    np.testing.assert_allclose(hills(x).numpy(), expected, rtol=1e-12)


def test_multihills_levels_cut_the_hills() -> None:
    two, one = multihills_levels(), multihills_level()
    # the two hills are one ridge at both levels; of the three, the lowest does not reach its level
    assert two.at(x1=0.5, x2=0.5) > 2.8 > two.at(x1=0.5, x2=0.6) > 1.4 > two.at(x1=0.5, x2=0.8)
    assert one.at(x1=0.2, x2=0.15) < 2.1 < one.at(x1=0.2, x2=0.75)
    at = two.decision.within(two.space).points(None)
    assert at.shape == (144, 2)
    assert at.min(0).values.tolist() == pytest.approx([0.05, 0.05])
    assert at.max(0).values.tolist() == pytest.approx([0.95, 0.95])


def test_multihills_need_a_weight_each_and_a_width() -> None:
    with pytest.raises(he.InputError, match="2 centres and 1 weights"):
        Multihills(((0.1, 0.1), (0.2, 0.2)), (1.0,))
    with pytest.raises(he.InputError, match="above 0, got 0"):
        Multihills(((0.1, 0.1),), (1.0,), width=0.0)


def test_unit_distances_do_not_depend_on_units() -> None:
    space = he.Space(metres=he.Real(0.0, 2.0), grams=he.Real(100.0, 500.0))
    a, b = space.encode({"metres": 0.5, "grams": 100.0}), space.encode({"metres": 1.0, "grams": 400.0})
    distance = UnitL1(space)
    assert float(distance(a, b)) == pytest.approx(0.25 + 0.75)
    assert distance(a.expand(3, 1, 2), b.expand(4, 2)).shape == (3, 4)
    assert repr(he.TopK(2, distance=distance)) == (
        "TopK(k=2, weight=1.0, cap=None, distance=UnitL1(), largest=True, scaled=False)"
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_every_problem_is_what_its_name_says(name: str) -> None:
    made = problem(name)
    assert made.name == name
    assert made.best is not None
    x = made.space.sample(6, 0)
    values = made(x)
    names = made.decision.outcomes
    assert values.shape == (6, len(names))[: 2 if names else 1]
    assert values.dtype == torch.float64
    torch.testing.assert_close(made(x.reshape(2, 3, -1)), values.unflatten(0, (2, 3)), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(made(x[0]), values[0], rtol=1e-12, atol=1e-12)
    said = made.value(made.space.encode(made.space.decode(x[0])))
    assert said == pytest.approx(dict(zip(names, values[0].tolist(), strict=True)) if names else float(values[0]))
    assert len(repr(made.decision)) < 240


@pytest.mark.parametrize("name", SHIPPED)
def test_the_best_action_has_the_loss_that_is_claimed(name: str) -> None:
    made = problem(name)
    loss, action = best(made)
    assert made.loss(action) == pytest.approx(loss, abs=1e-9)
    assert made.regret(action) == pytest.approx(0.0, abs=1e-9)
    if not isinstance(made.decision, he.LevelSets):
        made.space.check(action)


@pytest.mark.parametrize("name", SHIPPED)
def test_problems_travel_to_other_processes(name: str) -> None:
    made = problem(name)
    again = pickle.loads(pickle.dumps(made))
    x = made.space.sample(3, 0)
    assert again(x).tolist() == made(x).tolist()


@pytest.mark.parametrize("name", [name for name in SHIPPED if "level" in name])
def test_no_labels_beat_the_best_ones(name: str) -> None:
    made = problem(name)
    least, labels = best(made)
    assert 0.02 < float(labels.mean()) < 0.98  # a level that all or no points exceed would be no problem
    for flat in (0, labels.numel() // 2, labels.numel() - 1):
        other = labels.clone()
        other.view(-1)[flat] = 1.0 - other.view(-1)[flat]
        assert made.loss(other) >= least


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_met(name: str) -> None:
    made = problem(name)
    loss, action = best(made)
    assert isinstance(made.decision, he.Sequence)
    assert loss == 0.0
    assert made(action).tolist() == pytest.approx(list(made.decision.targets), abs=1e-9)


def around(made: Problem, centre: Tensor, generator: torch.Generator) -> Tensor:
    """Tuples near a tuple or a design, some nearer than others: 192 x k x d in the unit cube."""
    assert isinstance(made.decision, he.TopK)
    shape = (192, made.decision.k, made.space.dim)
    reach = 10.0 ** (-3.0 + 2.5 * torch.rand(shape[0], 1, 1, generator=generator, dtype=torch.float64))
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (made.space.to_unit(centre) + reach * noise).clamp(0.0, 1.0)


def adam(made: Problem, seed: int) -> float:
    """The least loss that Adam finds: a plain search without the hops and the polish of the one that is tested.

    It starts from tuples of good designs, from crowds around a very good one, and around the action that is to be best.
    """
    assert isinstance(made.decision, he.TopK)
    generator = torch.Generator().manual_seed(seed)
    some = made.space.sample(8192, seed)
    good = some[made(some).topk(256, largest=made.decision.largest).indices]
    loose = made.space.to_unit(good[torch.randint(256, (192, made.decision.k), generator=generator)])
    u = torch.cat([loose, around(made, good[0], generator), around(made, best(made)[1], generator)])
    u.requires_grad_(True)
    optimiser = torch.optim.Adam([u], lr=0.03)
    least, steps = math.inf, 250
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 0.03 * 10.0 ** (-4.0 * step / steps)
        x = made.space.from_cube(u)
        loss = made.decision.loss(made(x), x)
        least = min(least, float(loss.detach().min()))
        optimiser.zero_grad()
        loss.sum().backward()
        optimiser.step()
        with torch.no_grad():
            u.clamp_(0.0, 1.0)
    return least


@pytest.mark.parametrize("name", CONTINUOUS)
def test_another_search_finds_nothing_better_among_all_designs(name: str) -> None:
    made = problem(name)
    loss, _ = best(made)
    found = adam(made, seed=11)
    assert found > loss - 1e-9
    assert found < loss + 0.01  # the search has teeth


def test_noise_is_of_the_experiment_and_not_of_the_function() -> None:
    made = problem("branin-3-guesses")
    row = made.space.sample(1, 0)[0]
    drawn = torch.tensor([made.measured(row, seed) for seed in range(400)]) - float(made(row))
    assert float(made(row)) == float(made(row))
    assert made.measured(row, 7) == made.measured(row, 7)
    # 400 draws: false alarms below 1e-6
    assert abs(float(drawn.mean())) < 5.0 * 10.0 / 20.0
    assert 8.0 < float(drawn.std()) < 12.0
    assert problem("branin").measured(row, 7) == pytest.approx(float(made(row)))


@pytest.mark.parametrize("name", LISTED)
def test_another_search_finds_nothing_better_on_a_list(name: str) -> None:
    """Exchange from 40 random sets: every member in turn becomes the best design for its place."""
    made = problem(name)
    points = made.space.points
    assert isinstance(made.decision, he.TopK)
    assert points is not None
    generator = torch.Generator().manual_seed(5)
    found = []
    for _ in range(40):
        chosen = torch.randperm(len(points), generator=generator)[: made.decision.k]
        for _ in range(3):
            for member in range(made.decision.k):
                trial = chosen.expand(len(points), -1).clone()
                trial[:, member] = torch.arange(len(points))
                a = points[trial]
                losses = made.decision.loss(made.function.values[trial], a)  # type: ignore[attr-defined]
                others = torch.cat([chosen[:member], chosen[member + 1 :]])
                losses[others] = math.inf
                chosen = trial[losses.argmin()]
        found.append(made.loss(points[chosen]))
    assert min(found) == pytest.approx(best(made)[0], abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_branch_and_bound_is_brute_force(k: int) -> None:
    """Where a reward is all or nothing, the best subset is not the one that grows by the best next member."""
    for seed in range(30):
        generator = np.random.default_rng(seed)
        values, linked = generator.normal(size=14), generator.uniform(size=(14, 14)) < 0.4
        rewards = 1.5 * (np.triu(linked, 1) + np.triu(linked, 1).T)
        worth = {
            chosen: float(values[list(chosen)].sum() + sum(rewards[i, j] for i, j in combinations(chosen, 2)))
            for chosen in combinations(range(14), k)
        }
        best_one = max(worth, key=lambda chosen: worth[chosen])
        assert tuple(best_subset(values, rewards, k)) == best_one
        # from a single start the branches have to find it
        assert tuple(BranchAndBound(values, rewards, k, starts=1).run()) == best_one


QUICK = optima.SearchEffort(candidates=256, tuples=64, shaken=64, steps=150, polished=6, hops=2, patience=1)


def test_the_search_for_the_best_finds_it_again() -> None:
    made = alpine(2)
    found = optima.best_for(made, seed=3, effort=QUICK)
    assert found.loss == pytest.approx(best(made)[0], abs=1e-6)


def test_the_polish_is_exact_where_the_answer_is_known() -> None:
    """Two points on a parabola, pushed apart to the cap: 1/2 - cap/2 and 1/2 + cap/2, loss 2 (cap/2)^2 - 10 cap."""

    def parabola(x: Tensor) -> Tensor:
        return -(x[..., 0] - 0.5).square()

    made = Problem("two", parabola, he.Space(x=he.Real(0.0, 1.0)), he.TopK(2, weight=10.0, cap=0.3))
    found = optima.best_for(made, seed=0, effort=QUICK)
    assert found.loss == pytest.approx(2 * 0.15**2 - 3.0, abs=1e-12)
    assert found.action is not None
    assert sorted(found.action[:, 0].tolist()) == pytest.approx([0.35, 0.65], abs=1e-6)


def test_targets_out_of_range_are_said() -> None:
    def ramp(x: Tensor) -> Tensor:
        return x[..., 0]

    made = Problem("ramp", ramp, he.Space(x=he.Real(0.0, 1.0)), he.Sequence((0.25, 1.5)))
    found = optima.best_for(made)
    assert found.how.startswith("searched")
    assert found.loss == pytest.approx(0.25)
    assert found.action is not None
    assert found.action[:, 0].tolist() == pytest.approx([0.25, 1.0])
    with pytest.raises(he.InputError, match="which a link forbids"):
        optima.best_for(Problem("ramp", ramp, he.Space(x=he.Real(0.0, 1.0)), he.Sequence((0.25, 0.5), link=1.0)))


def test_the_search_for_the_best_prints(capsys: pytest.CaptureFixture[str]) -> None:
    optima.main(["fullerenes-top-5"])
    said = capsys.readouterr().out
    loss, _ = best(problem("fullerenes-top-5"))
    assert f"loss {loss:.12f} (exact" in said
    assert f"stored {loss:.12f}" in said
    with pytest.raises(SystemExit):
        optima.main(["fullerene-top-5"])
    assert "did you mean 'fullerenes-top-5'?" in capsys.readouterr().err


def test_what_cannot_be_searched_is_said() -> None:
    with pytest.raises(he.InputError, match="no search is known for Minimize"):
        optima.best_for(standard("branin"))


def test_published_level_sets_are_their_formulas() -> None:
    on = problem("exp-sin-level")
    assert on.at(x1=1.0, x2=2.5) == pytest.approx(math.exp(math.sin(1.0) ** 2 * math.sin(2.5) ** 2))
    levy = problem("levy-10-level")
    assert levy.space.dim == 10
    assert float(levy(torch.ones(10).double())) == pytest.approx(0.0, abs=1e-12)  # the minimum of Levy
    w = 1.0 + (torch.full((10,), 3.0).double() - 1.0) / 4.0
    terms = (w[:-1] - 1.0).square() * (1.0 + 10.0 * torch.sin(torch.pi * w[:-1] + 1.0).square())
    last = (w[-1] - 1.0).square() * (1.0 + torch.sin(2.0 * torch.pi * w[-1]).square())
    expected = float(torch.sin(torch.pi * w[0]).square() + terms.sum() + last)
    assert float(levy(torch.full((10,), 3.0).double())) == pytest.approx(-expected)
    for each in (on, levy):
        assert each.scored is not None
        assert len(each.scored.settled_points) == 10_000


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(he.InputError, match=r"no problem 'alpine-2-top5'; did you mean 'alpine-2-top-5'.*multihills"):
        problem("alpine-2-top5")
    with pytest.raises(he.InputError, match="no region 'texas'; known are pennsylvania, united-states"):
        vaccination("texas")


def test_the_document_lists_every_problem_with_its_best_loss() -> None:
    rows = [line.split("|")[1:-1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    named = {name: row[4].strip() for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    assert sorted(named) == SHIPPED
    for name, loss in named.items():
        if loss != "as BoTorch states it":
            assert float(loss) == pytest.approx(best(problem(name))[0], abs=1e-6)


def test_the_example_of_the_document_prints_a_value_and_the_best_loss(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    exec(code, {})
    value, loss = map(float, capsys.readouterr().out.split())
    assert value == pytest.approx(alpine(2).at(x1=4.0, x2=4.0), rel=1e-12)
    assert loss == pytest.approx(-15.971527, abs=1e-6)


@pytest.mark.parametrize("module", ["vaccination", "reactions"])
def test_the_commands_of_the_document_lack_nothing_but_the_data(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [command] = re.findall(rf"^python -m (experiments\.problems\.{module} .*)$", DOCUMENT.read_text(), re.MULTILINE)
    name, *arguments = command.split()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        importlib.import_module(name).main(arguments)
    assert "error: there is no file DATA.csv; expected a CSV file" in capsys.readouterr().err


def test_exports_are_exact_and_sorted() -> None:
    # a capital constant comes first, as ruff sorts them
    assert problems.__all__ == sorted(problems.__all__, key=lambda name: (not name.isupper(), name))
    public = {n for n, v in vars(problems).items() if not n.startswith("_") and not isinstance(v, type(problems))}
    assert public == set(problems.__all__)


def test_branin_is_its_formula() -> None:
    made = standard("branin")
    x, y = 2.0, 3.0
    bowl = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    assert made.at(x1=x, x2=y) == pytest.approx(bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10, rel=1e-6)
    assert isinstance(made.decision, he.Minimize)
    assert best(made)[0] == pytest.approx(0.397887, abs=1e-6)


def test_functions_to_be_maximised_are() -> None:
    made = standard("cosine-8")
    assert isinstance(made.decision, he.Maximize)
    assert best(made)[0] == pytest.approx(-0.8)


@pytest.mark.parametrize(
    ("name", "dim"), [("ackley-3", 3), ("hartmann-4", 4), ("powell-8", 8), ("michalewicz-5", 5), ("shekel", 4)]
)
def test_standard_functions_have_the_dimension_of_their_name(name: str, dim: int) -> None:
    made = standard(name)
    assert made.space.dim == dim
    assert made(made.space.sample(4, 0)).shape == (4,)
    assert (made.best is None) == (name == "hartmann-4")  # BoTorch states none


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("brannin", "did you mean 'branin'"),
        ("ackley", "did you mean 'ackley-D'"),
        ("hartmann-5", "its dimension is 3, 4 or 6"),
        ("powell-6", "a multiple of 4"),
        ("rosenbrock-1", "its dimension is 2 to 1000"),
    ],
)
def test_unknown_standard_functions_are_named(name: str, said: str) -> None:
    with pytest.raises(he.InputError, match=said):
        standard(name)


@pytest.mark.parametrize("name", ["hartmann-6", "branin"])
def test_at_the_highest_fidelity_a_function_is_what_is_decided_about(name: str) -> None:
    made = two_fidelities(name)
    x = made.space.sample(64, 0)
    assert set(x[:, -1].tolist()) == {0.2, 1.0}
    assert made.cost(x).tolist() == [20.0 if fidelity == 1.0 else 1.0 for fidelity in x[:, -1].tolist()]
    x[:, -1] = made.target
    torch.testing.assert_close(made(x), made.decided(x[:, :-1]), rtol=1e-6, atol=1e-6)
    x[:, -1] = 0.2
    gap = (made(x) - made.decided(x[:, :-1])).abs().max()
    assert 0.0 < float(gap) <= (0.08 if name == "hartmann-6" else 260.0)
    assert made.space.names == (*made.decided.space.names, "fidelity")


def test_functions_without_fidelities_are_named() -> None:
    with pytest.raises(he.InputError, match=r"no function with fidelities 'levy-4'; .*known are branin, hartmann-6"):
        two_fidelities("levy-4")


def test_the_simulator_crashes_in_its_corner() -> None:
    made = problem("crash-12")
    assert made.fails is not None
    x = torch.rand(40_000, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    failed = made.fails(x)
    assert float(failed.double().mean()) == pytest.approx(0.08, abs=0.005)
    loss, action = best(made)
    assert not bool(made.fails(action))
    assert made.loss(action) == loss
    runs = made(x[~failed])
    assert float(runs.max()) < -loss
    # nor is anything near the best design better, as long as it runs
    near = (action + 0.02 * torch.randn(4_000, 12, generator=torch.Generator().manual_seed(1))).clamp(0.0, 1.0)
    assert float(made(near[~made.fails(near)]).max()) < -loss
    assert float(made(x[failed]).max()) <= float(runs.min())


def test_gardner_and_gramacy_are_their_formulas() -> None:
    at = torch.tensor([1.2, 0.7], dtype=torch.float64)
    assert problem("gardner").value(at) == pytest.approx(
        {"value": math.sin(1.2) + 0.7, "limited": math.sin(1.2) * math.sin(0.7)}
    )
    wave = 1.5 - 1.2 - 1.4 - 0.5 * math.sin(2 * math.pi * (1.44 - 1.4))
    assert problem("gramacy").value(at) == pytest.approx({"value": 1.9, "wave": wave, "circle": 1.44 + 0.49 - 1.5})


@pytest.mark.parametrize("name", ["gardner", "gramacy", "welded-beam"])
def test_no_design_that_holds_the_limits_is_better_than_the_best_or_worse_than_the_fallback(name: str) -> None:
    made = problem(name)
    assert isinstance(made.decision, he.Minimize)
    assert made.decision.fallback is not None
    least, action = best(made)
    near = made.space.to_cube(action) + 0.02 * torch.randn(
        2000, 1, 2, generator=torch.Generator().manual_seed(1)
    ).repeat(1, 1, made.space.cube // 2)
    x = torch.cat([made.space.sample(2000, 0).unsqueeze(1), made.space.from_cube(near.clamp(0.0, 1.0))])
    values = made(x)
    losses = made.decision.loss(values, x)
    feasible = made.decision.holds(values)[..., 0]
    assert 0 < int(feasible.sum()) < len(x)
    assert bool((losses[feasible] >= least).all())
    assert bool((losses[~feasible] == made.decision.fallback).all())


def test_the_beam_holds_its_limits_where_those_of_botorch_do() -> None:
    made, beam = problem("welded-beam"), WeldedBeamSO()
    x = torch.cat([made.space.sample(3000, 1), best(made)[1]])
    assert isinstance(made.decision, he.Minimize)
    own = made.decision.holds(made(x))
    assert torch.equal(own, (beam.evaluate_slack_true(x) >= 0).all(-1))
    assert bool(own.any())
    assert torch.equal(made(x)[:, 0], beam.evaluate_true(x))


def test_the_front_of_branin_and_currin_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optima, "FRONT_ROUNDS", 5)
    monkeypatch.setattr(optima, "FRONT_STEPS", 60)
    found = optima.best_for(problem("branin-currin"), seed=3)
    assert found.loss == pytest.approx(best(problem("branin-currin"))[0], abs=1e-3)
