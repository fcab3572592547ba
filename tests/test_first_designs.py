"""The first designs: how many by default, that earlier data count, and that everybody says the same number."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.core.spaces import usual_first
from hentropy.studies.records import State, Trial
from hentropy.studies.storage import open_store
from hentropy.views.server.snapshot import SnapshotCache
from hentropy.views.text.sentences import to_come
from support.commands import done, hentropy

WIDE = he.Pool(torch.rand(40, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_earlier(count: int, **options: object) -> he.Study:
    study = he.Study(WIDE, he.Maximize(), hyperparameters="map", **options)  # type: ignore[arg-type]
    study.attach_many([(WIDE.decode(row), float(row.sum())) for row in WIDE.points[:count]])
    return study


@pytest.mark.parametrize(
    ("parameters", "first"), [(1, 4), (2, 6), (3, 8), (4, 10), (5, 12), (6, 12), (24, 12), (500, 12)]
)
def test_the_default_grows_with_the_parameters_up_to_a_cap(parameters: int, first: int) -> None:
    assert usual_first(parameters) == first


@pytest.mark.parametrize(("earlier", "left"), [(0, 12), (1, 11), (10, 2), (12, 0), (30, 0)])
def test_earlier_measurements_of_a_wide_pool_count(earlier: int, left: int) -> None:
    study = with_earlier(earlier)
    assert (study.first, study.first_left) == (12, left)
    trials = study.ask_many(3) if earlier else study.ask_many(14)
    assert sum(trial.origin == "first" for trial in trials) == (min(3, left) if earlier else 14)


def test_earlier_measurements_count_towards_a_number_that_is_given() -> None:
    study = with_earlier(10, first=30)
    assert (study.first, study.first_left) == (30, 20)
    assert [trial.origin for trial in study.ask_many(21)] == ["first"] * 20 + ["proposed"]


def test_what_failed_or_was_withdrawn_is_made_up_for() -> None:
    study = with_earlier(10)
    study.tell(study.ask(), failed="broken")
    study.withdraw(study.ask())
    assert study.first_left == 2
    study.ask()
    assert study.first_left == 1


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ("", "The first 12 designs fill the space (the default for 24 parameters)."),
        ("a" * 10, "Space-filling start: 10 of 12 designs so far (the default for 24 parameters; earlier measurements"),
        (
            "aaaaarcccf",
            "Space-filling start: 9 of 12 designs so far (the default for 24 parameters; earlier measurements",
        ),
        ("cccccccccca", "Space-filling start: 11 of 12 designs so far"),
        ("c" * 12, ""),
    ],
)
def test_it_is_said_how_many_are_to_come_and_why(states: str, said: str) -> None:
    kinds = {"r": State.RUNNING, "c": State.COMPLETE, "f": State.FAILED, "a": State.COMPLETE}
    trials = [Trial(n, {}, kinds[s], origin="attached" if s == "a" else "first") for n, s in enumerate(states)]
    assert to_come(12, 24, trials).startswith(said)
    assert bool(to_come(12, 24, trials)) == bool(said)
    assert to_come(12, 24, trials).endswith("count; failed and withdrawn trials do not count).") == ("f" in states)


def test_a_number_of_ones_own_is_said_to_be_given() -> None:
    assert to_come(7, 2, []) == "The first 7 designs fill the space (as given)."


def wide_study(folder: Path) -> str:
    names = [f"c{i}" for i in range(24)]
    lines = [",".join(names), *(",".join(f"{value:.4f}" for value in row) for row in WIDE.points.tolist())]
    (folder / "pool.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    earlier = [",".join([*names, "value"]), *(f"{line},{n}" for n, line in enumerate(lines[1:11]))]
    (folder / "earlier.csv").write_text("\n".join(earlier) + "\n", encoding="utf-8")
    done("init", "wide.toml", "--pool", "pool.csv", "--decision", "maximize", "--objective", "manual", "--yes")
    return "wide.toml"


def test_every_command_says_the_same_number(folder: Path) -> None:
    file = wide_study(folder)
    assert "# first = 12\n" in (folder / file).read_text(encoding="utf-8")
    assert "The first 12 designs fill the pool (the default for 24 parameters; attached data" in done("check", file)
    two = "Space-filling start: 10 of 12 designs so far (the default for 24 parameters; earlier measurements count)."
    assert two in done("attach", file, "earlier.csv")
    assert "2 of them are still to come." in done("check", file)
    assert json.loads(done("check", file, "--json"))["first_left"] == 2
    assert two in done("show", file)
    assert two in done("decide", file)
    assert "Space-filling start: 11 of 12 designs so far" in done("ask", file)
    assert json.loads(done("show", file, "--json"))["first_left"] == 1
    asked = done("ask", file)
    assert "first design " in asked
    assert "Space-filling start" not in asked
    assert "All of them have been asked for." in done("check", file)


def test_the_page_says_the_same_number(folder: Path) -> None:
    done("attach", wide_study(folder), "earlier.csv")
    store = open_store("sqlite:///hentropy.db")
    [record] = store.studies()
    case = SnapshotCache(store).snapshot(record)
    assert case.first == 12
    assert case.to_come.startswith("Space-filling start: 10 of 12 designs so far")
    store.close()


def test_a_study_goes_on_with_the_number_that_it_began_with(folder: Path) -> None:
    """A study of an earlier version, whose default was another one, is still the same study."""
    file = wide_study(folder)
    done("attach", file, "earlier.csv")
    store = open_store("sqlite:///hentropy.db")
    [record] = store.studies()
    store.redefine(record, lambda stands: {**stands, "first": 50})
    store.close()
    assert "The first 50 designs fill the pool (as given; attached data" in done("check", file)
    assert "Space-filling start: 11 of 50 designs so far" in done("ask", file)
    (folder / file).write_text("first = 12\n" + (folder / file).read_text(encoding="utf-8"), encoding="utf-8")
    assert "first" in hentropy("ask", file).err


BOILS = {"ether": 35.0, "THF": 66.0, "water": 100.0, "toluene": 111.0, "DMF": 153.0}


def test_first_designs_fill_what_each_option_allows() -> None:
    """A solvent that boils late is tried hot as often as cool, and no two designs have the same numbers.

    The share of the upper half among n = 80 independent uniform numbers has a standard deviation of 0.056: further than
    4.5 of them from 0.5 is one case in 100,000, for one of five options.
    """
    where, tables = ["t <= boils[solvent]"], {"boils": BOILS}
    space = he.Space(solvent=list(BOILS), t=he.Real(20.0, 140.0), c=he.Real(0.0, 1.0), where=where, tables=tables)
    found: dict[str, list[float]] = {solvent: [] for solvent in BOILS}
    for seed in range(40):
        rows = space.bounds[:0]
        for _ in range(10):  # one at a time, as they are asked
            rows = torch.cat([rows, space.spread(1, seed, rows)])
        assert bool(space.holds(rows).all())
        assert len(rows[:, space.places["c"]].unique()) == 10
        for params in map(space.decode, rows):
            found[params["solvent"]].append((params["t"] - 20.0) / (min(BOILS[params["solvent"]], 140.0) - 20.0))
    for each in found.values():
        assert len(each) == 80
        assert sum(share > 0.5 for share in each) / 80 == pytest.approx(0.5, abs=0.25)
    assert sum(share > 0.75 for share in found["DMF"]) >= 8  # 20 are expected, with a standard deviation of 3.9


def test_no_two_first_designs_of_a_plate_have_the_same_numbers() -> None:
    """Also where the plate's temperature forbids a solvent, whatever the other numbers are."""
    where, tables = ["t <= boils[solvent]"], {"boils": BOILS}
    space = he.Space(
        solvent=list(BOILS),
        t=he.Real(20.0, 140.0),
        c=he.Real(0.0, 1.0),
        where=where,
        tables=tables,
        same_in_batch=["t"],
    )
    for seed in range(20):
        study = he.Study(space, he.Maximize(), first=12, seed=seed)
        for _ in range(2):
            plate = study.ask_many(6)
            assert len({trial.params["t"] for trial in plate}) == 1
        assert len({trial.params["c"] for trial in study.records}) == 12
        assert bool(space.holds(space.encode_many([trial.params for trial in study.records])).all())


@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("options", [{}, {"solvent": ["THF", "DMF", "dioxane"]}])
def test_what_first_plates_share_fills_its_range(size: int, options: dict[str, Any]) -> None:
    """Four plates have a temperature in each quarter of the range, wherever it stands among the parameters."""
    numbers = {"t": he.Real(0.0, 1.0), "c": he.Real(0.0, 1.0)}
    for parameters in ({**numbers, **options}, {**options, **dict(reversed(numbers.items()))}):
        space = he.Space(**parameters, same_in_batch=["t"])
        for seed in range(4):
            study = he.Study(space, he.Maximize(), first=4 * size, seed=seed)
            plates = [study.ask_many(size) for _ in range(4)]
            shared = [{trial.params["t"] for trial in plate} for plate in plates]
            assert all(len(each) == 1 for each in shared)
            assert {int(4 * t) for each in shared for t in each} == {0, 1, 2, 3}
            assert len({trial.params["c"] for trial in study.records}) == 4 * size


@pytest.mark.parametrize("options", [{}, {"solvent": ["THF", "DMF", "dioxane"]}])
def test_first_plates_that_share_one_of_few_values_have_all_of_them(options: dict[str, Any]) -> None:
    """Whole numbers and rows of a pool repeat: what was shared before does not say how many plates there are."""
    numbers = {"t": he.Integer(20, 22), "c": he.Real(0.0, 1.0)}
    rows = [
        {"t": 20.0 + t, "c": 0.01 * c, **{name: of[c % len(of)] for name, of in options.items()}}
        for t in range(3)
        for c in range(60)
    ]
    for space in (he.Space(**numbers, **options, same_in_batch=["t"]), he.Pool(rows, same_in_batch=["t"])):
        for seed in range(8):
            study = he.Study(space, he.Maximize(), first=32, seed=seed)
            plates = [study.ask_many(4) for _ in range(8)]
            shared = [{trial.params["t"] for trial in plate} for plate in plates]
            assert all(len(each) == 1 for each in shared)
            assert max(sum(t in each for each in shared) for t in (20, 21, 22)) <= 4
            assert {t for each in shared for t in each} == {20, 21, 22}
            assert len({tuple(trial.params.values()) for trial in study.records}) == 32
