"""TopK with distances in units of the ranges, and the note where those in own units see some parameters only."""

import io
import itertools
import json
import math
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import Tensor

import hentropy as he
from hentropy.core.spaces import Parameter
from hentropy.studies.definition import asks_for
from support.commands import done, lab
from support.studies import LINE, begun, hill

UNEVEN = he.Space(temperature=he.Real(20.0, 90.0), catalyst=he.Real(0.01, 0.03), rate=he.Real(1e-4, 1e-1, log=True))
ROWS = torch.tensor([[20.0, 0.01], [30.0, 0.03], [55.0, 0.02], [90.0, 0.01], [90.0, 0.03]], dtype=torch.float64)
POOL = he.Pool(ROWS, names=["temperature", "catalyst"])


def unit(design: dict[str, float]) -> list[float]:
    """The definition, parameter by parameter."""
    return [
        (design["temperature"] - 20.0) / 70.0,
        (design["catalyst"] - 0.01) / 0.02,
        math.log(design["rate"] / 1e-4) / math.log(1e3),
    ]


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize("cap", [None, 0.4])
def test_the_loss_by_its_definition(distance: str, cap: float | None) -> None:
    decision = he.TopK(3, weight=2.0, cap=cap, distance=distance, scaled=True).within(UNEVEN)  # type: ignore[arg-type]
    a = UNEVEN.sample(3, 4)
    f = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    points = [unit(UNEVEN.decode(row)) for row in a]
    power = 1 if distance == "l1" else 2
    apart = [
        min(sum(abs(p - q) ** power for p, q in zip(one, other, strict=True)) ** (1 / power), cap or math.inf)
        for one, other in itertools.combinations(points, 2)
    ]
    assert float(decision.loss(f, a)) == pytest.approx(0.5 - 2.0 * sum(apart) / 3)


def test_a_distance_of_ones_own_gets_scaled_designs() -> None:
    def first(a: Tensor, b: Tensor) -> Tensor:
        return (a - b)[..., 0].abs()

    decision = he.TopK(2, distance=first, scaled=True).within(UNEVEN)
    a = UNEVEN.encode_many([{"temperature": t, "catalyst": 0.02, "rate": 1e-2} for t in (20.0, 90.0)])
    assert float(decision.loss(torch.zeros(2, dtype=torch.float64), a)) == pytest.approx(-1.0)


def test_the_decision_on_a_list_against_all_sets() -> None:
    made = he.Study(POOL, he.TopK(3, weight=0.7, scaled=True), hyperparameters="map")
    values = [0.0, 0.2, 0.1, 0.3, -0.1]
    for row, value in zip(ROWS, values, strict=True):
        made.attach(POOL.decode(row), value)
    mean = made.belief.moments(ROWS, he.Needs.MEAN).mean[0]
    scaled = (ROWS - ROWS.min(0).values) / (ROWS.max(0).values - ROWS.min(0).values)

    def loss(chosen: tuple[int, ...]) -> float:
        apart = [float((scaled[i] - scaled[j]).abs().sum()) for i, j in itertools.combinations(chosen, 2)]
        return -float(mean[list(chosen)].sum()) - 0.7 * sum(apart) / 3

    best = min(itertools.combinations(range(5), 3), key=loss)
    verdict = made.decide()
    assert verdict.expected_loss == pytest.approx(loss(best))
    assert {row["temperature"] for row in verdict.action} == {float(ROWS[i, 0]) for i in best}
    raw = he.entropy(he.TopK(3, weight=0.7), made.belief, POOL)
    assert raw.value != pytest.approx(verdict.expected_loss, rel=0.1)


def test_gains_are_the_same_for_a_space_that_is_scaled_already() -> None:
    """On the unit cube both are the same decision."""
    cube = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
    made = begun(cube, he.TopK(2, scaled=True), 8)
    x = cube.sample(3, 1)
    scaled, raw = (he.gain(he.TopK(2, scaled=flag), made.belief, x, cube) for flag in (True, False))
    assert torch.allclose(scaled.value, raw.value, rtol=1e-6, atol=1e-12)


def test_it_is_proposed_for_and_decided_on_a_continuous_space() -> None:
    made = he.Study(UNEVEN, he.TopK(2, weight=5.0, scaled=True), hyperparameters="map", first=6)
    for _ in range(7):
        trial = made.ask()
        made.tell(trial, hill(trial.params["temperature"] / 40.0))
    assert trial.gain is not None
    catalysts = [row["catalyst"] for row in made.decide().action]
    assert max(catalysts) - min(catalysts) > 0.015


def test_without_ranges_it_says_what_is_missing() -> None:
    with pytest.raises(he.DecisionError, match=r"within\(space\)"):
        he.TopK(2, scaled=True).loss(torch.zeros(2), torch.zeros(2, 3))


def test_the_note_names_the_parameters_and_their_ranges() -> None:
    [note] = he.Study(UNEVEN, he.TopK(2)).notes
    assert "catalyst (0.01 to 0.03), rate (0.0001 to 0.1) hardly count beside temperature (20 to 90)" in note
    assert "scaled = true" in note


@pytest.mark.parametrize(
    ("space", "decision"),
    [
        (UNEVEN, he.TopK(2, scaled=True)),
        (UNEVEN, he.TopK(1)),
        (UNEVEN, he.TopK(2, weight=0.0)),
        (UNEVEN, he.TopK(2, distance=lambda a, b: (a - b).abs().sum(-1))),
        (UNEVEN, he.Maximize()),
        (LINE, he.TopK(2)),
        (he.Space(x=he.Real(0, 10), y=he.Real(0, 1)), he.TopK(2)),
    ],
)
def test_no_note_where_there_is_nothing_to_note(space: he.Space, decision: he.Decision) -> None:
    assert he.Study(space, decision).notes == ()


def test_a_search_prints_the_note() -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    he.search(lambda **x: x["temperature"], UNEVEN, he.TopK(2), 2, console=console, hyperparameters="map")
    assert "note: Distances between designs are in the parameters' own units" in out.getvalue()


TEXT = """
version = 1
name = "lab"
first = 2
[space.temperature]
type = "real"
low = 20
high = 90
[space.catalyst]
type = "real"
low = 0.01
high = 0.03
[decision]
name = "top_k"
k = 2
"""


def test_files_are_warned_and_can_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path, text=TEXT)
    said = done("check", "lab.toml").replace("\n", " ")
    assert "Note: Distances between designs are in the parameters' own units: catalyst (0.01 to 0.03)" in said
    assert len(json.loads(done("check", "lab.toml", "--json"))["notes"]) == 1
    lab(tmp_path, text=TEXT + "scaled = true\n")
    said = done("check", "lab.toml")
    assert "Note:" not in said
    assert "scaled yes" in said
    made = he.Study.from_file(tmp_path / "lab.toml")
    assert isinstance(made.decision, he.TopK)
    assert made.decision.scaled
    assert repr(he.load_study("lab", "sqlite:///hentropy.db").decision) == repr(made.decision)


SOLVENT, TIME = he.Choice(["THF", "water"]), he.Real(0, 50, unit="min")


@pytest.mark.parametrize(
    ("parameters", "scaled", "cap"),
    [
        ({"x": he.Real(0, 1), "y": he.Real(0, 3)}, False, 0.4),
        ({"x": TIME, "y": he.Real(0, 30, unit="min")}, False, 8.0),
        ({"x": TIME, "y": he.Real(0, 30, unit="°C")}, True, 0.2),
        ({"x": TIME, "s": SOLVENT}, True, 0.2),
        ({"s": SOLVENT, "t": he.Choice([1, 2])}, True, 0.2),
    ],
)
def test_shares_of_ranges_are_the_default_where_units_cannot_be_added(
    parameters: dict[str, Parameter], scaled: bool, cap: float
) -> None:
    default = {ask.option: ask.default for ask in asks_for("top_k", parameters)}
    assert (default["scaled"], default["cap"]) == (scaled, cap)
    said = {ask.option: ask.default for ask in asks_for("top_k", parameters, scaled=True)}
    assert said["cap"] == pytest.approx(0.1 * len(parameters))
