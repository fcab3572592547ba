"""The paper's figures: information checked by value, drawing by its files. The runs are written by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure as Page

import hentropy as he
from experiments.figures import FIGURES
from experiments.figures.curves import by_rank, curves_info, draw_curves, draw_regrets, draw_scores
from experiments.figures.figure_1 import DATA, draw_one_dimension, one_dimension, posterior
from experiments.figures.page import plain
from experiments.figures.panels import draw_pictures
from experiments.figures.pictures import ground, pictures
from experiments.ledger import Ledger
from experiments.methods import METHODS, TASKS
from experiments.plan import Plan, Results
from experiments.run import RunKey, Step, replayed
from experiments.scores import best_labels
from hentropy.bench.problems import problem
from hentropy.core.beliefs import Needs
from hentropy.core.gain import Effort
from support.tiers import nightly

HILLS, MAP, PATH, NIGHT = (
    "multihills-two-levels",
    "vaccination-pennsylvania-top-5",
    "multihills-sequence",
    "night-light-one-level",
)


def results(folder: Path, *tasks: str, queries: int = 3, seeds: int = 2) -> Results:
    """An empty folder of results, and a plan of short runs."""
    plan = Plan(tuple(replace(TASKS[name], queries=queries) for name in tasks), range(seeds), quick=True)
    return Results(Ledger.open(folder), plan)


def write(
    made: Results, task: str, method: str, seed: int, scores: Sequence[float], regrets: Sequence[float | None]
) -> None:
    """A run with these scores; its queries fill the space."""
    on, job = problem(task), RunKey(made.plan.task(task), method, seed, made.plan.quick)
    made.ledger.begin(job)
    designs = on.space.sample(len(scores), seed=100 + seed + sum(map(ord, method)))
    for number, (score, regret, design) in enumerate(zip(scores, regrets, designs, strict=True)):
        query, value = (on.space.decode(design), float(on(design))) if number else (None, None)
        made.ledger.add(job, Step(number, query, value, score, regret, -score, None, None, 0.1, None))


def filled(folder: Path, tasks: Sequence[str], methods: Sequence[str], seeds: int = 2, queries: int = 3) -> Results:
    """Results in which every method is a little better than the one before it."""
    made = results(folder, *tasks, queries=queries, seeds=seeds)
    for task in tasks:
        for place, method in enumerate(name for name in TASKS[task].methods if name in methods):
            for seed in range(seeds):
                scores = [0.5 + 0.1 * place + 0.01 * n + 0.003 * seed for n in range(queries + 1)]
                write(made, task, method, seed, scores, [1.0 - score for score in scores])
    return made


def checked(paths: list[Path]) -> list[str]:
    """The names of the files, which are in order and small enough to be looked at anywhere."""
    for path in paths:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
            assert path.stat().st_size < 300_000
    return [path.name for path in paths]


def test_curves_are_means_with_errors_the_best_first(tmp_path: Path) -> None:
    made = results(tmp_path, HILLS, queries=2, seeds=3)
    write(made, HILLS, "random", 0, [0.5, 0.6, 0.7], [3.0, 2.0, 1.0])
    write(made, HILLS, "random", 1, [0.5, 0.8, 0.9], [5.0, 4.0, 3.0])
    write(made, HILLS, "straddle", 0, [0.5, 0.9, 1.0], [3.0, 1.0, 0.0])
    write(made, HILLS, "pom", 0, [0.5, 0.6], [3.0, 2.0])  # on its way
    info = curves_info(made, HILLS, ["pom", "random", "straddle", "efi", "kg"])
    assert (info.task, info.score, info.best) == (HILLS, "accuracy", 1.0)
    assert [line.method for line in info.lines] == ["straddle", "random"]
    straddle, random = info.lines
    assert random.score.mean == pytest.approx([0.5, 0.7, 0.8])
    assert random.score.error == pytest.approx([0.0, 0.1, 0.1])  # sd 0.1 sqrt 2 over sqrt 2
    assert random.regret is not None
    assert random.regret.mean == pytest.approx([4.0, 3.0, 2.0])
    assert random.regret.error == pytest.approx([1.0, 1.0, 1.0])
    assert straddle.score.error == pytest.approx([0.0, 0.0, 0.0])
    # knowledge gradient does not take part in level sets, so it is not missing
    assert info.note == (
        "mean ± s.e. of 2 seeds; straddle: 1 seed;"
        " no complete run: probability of misclassification, expected feasibility"
    )


def test_a_regret_that_is_not_known_has_no_curve(tmp_path: Path) -> None:
    made = results(tmp_path, HILLS, queries=1)
    write(made, HILLS, "random", 0, [0.5, 0.6], [None, None])
    write(made, HILLS, "pom", 0, [0.5, 0.6], [0.5, 0.0])
    info = curves_info(made, HILLS, ["random", "pom"])
    assert [line.regret is None for line in info.lines] == [True, False]
    assert info.note == "1 seed"


def test_a_task_without_runs_says_so(tmp_path: Path) -> None:
    for made in (results(tmp_path, HILLS), results(tmp_path, MAP)):  # planned and not begun; not planned
        info = curves_info(made, HILLS, ["random"])
        assert (info.lines, info.note) == ((), "no complete run yet")


def test_the_legend_goes_by_the_average_place(tmp_path: Path) -> None:
    made = results(tmp_path, HILLS, NIGHT, queries=1)
    ends = {HILLS: {"random": 0.9, "pom": 0.8, "efi": 0.7}, NIGHT: {"random": 0.1, "pom": 0.3, "efi": 0.2}}
    for task, scores in ends.items():
        for method, end in scores.items():
            write(made, task, method, 0, [0.0, end], [1.0, 1.0 - end])
    infos = [curves_info(made, task, ["efi", "random", "pom"]) for task in (HILLS, NIGHT)]
    assert by_rank(infos) == ["pom", "random", "efi"]


def test_curves_are_drawn_as_they_are(tmp_path: Path) -> None:
    made = filled(tmp_path, [HILLS], ["random", "pom"])
    info = curves_info(made, HILLS, ["random", "pom"])
    axes, below = Page().subplots(2, 1)
    draw_scores(axes, info)
    drawn = {line.get_label(): line for line in axes.lines}
    for line in info.lines:
        look = METHODS[line.method]
        mine = drawn[look.label]
        assert (mine.get_color(), mine.get_marker()) == (look.colour, look.marker)
        assert np.asarray(mine.get_ydata()) == pytest.approx(line.score.mean)
    low, high = axes.get_ylim()
    assert low < 0.5 <= 1.0 < high < 1.1
    assert axes.get_ylabel() == "accuracy"
    draw_regrets(below, info)
    assert below.get_yscale() == "log"
    assert {line.get_label() for line in below.lines} == {METHODS[m].label for m in ("random", "pom")}


def test_regrets_of_zero_are_drawn_without_a_warning(tmp_path: Path) -> None:
    made = results(tmp_path, HILLS, queries=2)
    write(made, HILLS, "random", 0, [0.5, 0.6, 1.0], [1.0, 0.5, 0.0])
    write(made, HILLS, "pom", 0, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    everything, only_zero = curves_info(made, HILLS, ["random", "pom"]), curves_info(made, HILLS, ["pom"])
    checked(draw_curves([everything], tmp_path / "out", "some"))
    checked(draw_curves([only_zero, everything], tmp_path / "out", "all"))


def test_a_picture_shows_the_run_so_far(tmp_path: Path) -> None:
    made = filled(tmp_path, [MAP], ["random", "kg"], queries=4)
    write(made, MAP, "hentropy", 0, [0.5], [0.5])  # on its way
    shown = pictures(made, MAP, ["hentropy", "kg", "random"], after=2, grid=5)
    assert shown is not None
    assert (shown.seed, shown.after) == (0, 2)
    assert [picture.method for picture in shown.pictures] == ["kg", "random"]
    run, on = made.runs(MAP, "random")[0], problem(MAP)
    study = replayed(RunKey(made.plan.task(MAP), "random", 0, True), on, run[:3])
    picture = shown.pictures[1]
    assert picture.first == TASKS[MAP].first
    assert picture.queries.tolist() == study.belief.X.tolist()
    asked = [list(each.query.values()) for each in run if each.query is not None]
    assert picture.queries[-2:].tolist() == asked[:2]
    assert picture.following.tolist() == asked[2:3]
    verdict = study.decide()
    assert picture.chosen.tolist() == verdict.raw.tolist()
    assert picture.score == pytest.approx(-on.loss(verdict.raw))
    ground = shown.ground
    assert on.best is not None
    assert on.best.action is not None
    assert ground.best.tolist() == on.best.action.tolist()
    assert ground.stretch == pytest.approx(1.0 / math.cos(math.radians((39.72 + 42.23) / 2)))
    # row i, column j is the point (lon_j, lat_i)
    point = torch.tensor([ground.axes[0][3], ground.axes[1][1]])
    assert ground.truth[1, 3] == pytest.approx(float(on(point)))


def test_a_picture_never_goes_beyond_the_run(tmp_path: Path) -> None:
    made = filled(tmp_path, [PATH], ["random"], seeds=1, queries=2)
    shown = pictures(made, PATH, ["random"], after=30, grid=3)
    assert shown is not None
    assert shown.after == 1
    assert len(shown.pictures[0].following) == 1
    assert shown.ground.heights == (4.0, 3.0, 2.0, 1.0, 0.05)
    assert len(shown.ground.best) == 0  # many paths are as good


def test_the_seed_is_one_that_most_methods_have(tmp_path: Path) -> None:
    made = results(tmp_path, PATH, queries=1, seeds=6)
    for method, seed in (("random", 0), ("random", 3), ("kg", 3), ("ei", 3), ("ei", 5), ("random", 5), ("kg", 5)):
        write(made, PATH, method, seed, [0.1, 0.2], [0.9, 0.8])
    shown = pictures(made, PATH, ["random", "kg", "ei"], after=1, grid=3)
    assert shown is not None
    assert shown.seed == 3
    assert pictures(made, PATH, ["uncertainty"], after=1) is None
    assert pictures(made, NIGHT, ["random"], after=1) is None


def test_level_sets_show_both_boundaries_and_what_is_wrong(tmp_path: Path) -> None:
    made = filled(tmp_path, [HILLS], ["random"], seeds=1)
    shown = pictures(made, HILLS, ["random"], after=2, grid=7)
    assert shown is not None
    on, picture, ground = problem(HILLS), shown.pictures[0], shown.ground
    assert ground.heights == (1.4, 2.8)
    assert ground.stretch is None
    study = replayed(RunKey(made.plan.task(HILLS), "random", 0, True), on, made.runs(HILLS, "random")[0][:3])
    point = torch.tensor([[ground.axes[0][5], ground.axes[1][2]]])
    assert picture.mean is not None
    assert picture.mean[2, 5] == pytest.approx(float(study.belief.moments(point, Needs.MEAN).mean))
    labels = study.decide().raw
    wrong = (labels != best_labels(on)).any(0)
    assert 0 < len(picture.wrong) == int(wrong.sum()) < len(wrong)
    at = on.decision.within(on.space).points(labels)
    assert picture.wrong.tolist() == at[wrong].tolist()
    assert picture.score == pytest.approx(float((labels == best_labels(on)).double().mean()))
    assert len(picture.chosen) == 0


def test_a_prediction_that_reaches_no_level_is_drawn(tmp_path: Path) -> None:
    made = filled(tmp_path, [HILLS], ["random"], seeds=1)
    shown = pictures(made, HILLS, ["random"], after=0, grid=5)
    assert shown is not None
    flat = replace(shown.pictures[0], mean=np.zeros((5, 5)), following=np.zeros((0, 2)))
    checked(draw_pictures(replace(shown, pictures=(flat,)), tmp_path / "out", "flat"))


def test_pictures_need_a_plane() -> None:
    with pytest.raises(he.InputError, match="2 parameters, alpine-3-top-3 has 3"):
        ground(problem("alpine-3-top-3"), grid=3)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_any_number_of_pictures_is_drawn(count: int, tmp_path: Path) -> None:
    shown = pictures(filled(tmp_path, [PATH], ["random"], seeds=1), PATH, ["random"], after=1, grid=9)
    assert shown is not None
    checked(draw_pictures(replace(shown, pictures=shown.pictures * count), tmp_path / "out", "some"))


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0, "1"), (-0.0, "0"), (0.25, "0.25"), (-80.0, "\N{MINUS SIGN}80"), (1e-7, "1e\N{MINUS SIGN}07")],
)
def test_numbers_are_short(value: float, said: str) -> None:
    assert plain(value) == said


FILES = {
    "figure-2": ["curves", MAP, "alpine-2-top-5"],
    "figure-3": ["curves", HILLS],
    "figure-4": ["curves", "vaccination-pennsylvania-sequence"],
    "figure-5": ["curves", NIGHT],
    "figure-6": ["curves", PATH],
    "figure-7": ["curves-2-parameters", "curves-3-and-5-parameters", "alpine-2-top-5", "multihills-one-level"],
}


@pytest.mark.parametrize("name", [name if name in ("figure-2", "figure-7") else nightly(name) for name in FILES])
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    made = filled(tmp_path, FIGURES[name].tasks, ["hentropy", "random"])
    paths = FIGURES[name].draw(made, tmp_path / "figures")
    ends = [f"{name}-{end}.{kind}" for end in FILES[name] for kind in ("png", "svg")]
    assert checked(paths) == ends
    assert all(path.parent == tmp_path / "figures" for path in paths)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", FILES)
def test_nothing_to_draw_says_what_to_do(name: str, tmp_path: Path) -> None:
    made = results(tmp_path, *FIGURES[name].tasks)
    with pytest.raises(he.InputError, match=rf"no complete run .* python -m experiments {name} --quick --out"):
        FIGURES[name].draw(made, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    info = curves_info(filled(tmp_path, [HILLS], ["random"]), HILLS, ["random"])
    first, second = (draw_curves([info], tmp_path / where, "same") for where in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_table_of_figures() -> None:
    assert list(FIGURES) == [f"figure-{number}" for number in range(1, 8)]
    assert all(figure.name == name and figure.title and figure.caption for name, figure in FIGURES.items())
    assert {task for figure in FIGURES.values() for task in figure.tasks} == set(TASKS)


def test_figure_1_four_decisions_lead_to_four_queries(tmp_path: Path) -> None:
    info = one_dimension(grid=41, effort=Effort(replicates=3, outcomes=16, steps=8))
    belief = posterior()
    x = torch.from_numpy(info.x).unsqueeze(-1)
    mean, var = belief.moments(x, Needs.VARIANCE).total()
    assert info.mean == pytest.approx(mean.numpy())
    assert info.spread == pytest.approx(var.sqrt().numpy())
    assert list(zip(info.designs, info.values, strict=True)) == list(DATA)
    search, gradient, improvement, guesses = info.choices
    # where f is greatest: a distribution, most of it around the greatest mean
    assert search.actions.size == 0
    assert search.chances.sum() == pytest.approx(1.0)
    assert abs((search.chances.argmax() + 0.5) / len(search.chances) * 10 - 5.0) < 0.5
    # any design: the greatest mean; a measured one: the greatest mean among those
    assert gradient.means[0] >= info.mean.max() - 1e-9
    at_data = belief.moments(torch.tensor(DATA)[:, :1].double(), Needs.MEAN).mean[0].numpy()
    assert improvement.actions[0] == DATA[int(at_data.argmax())][0]
    assert improvement.means[0] == pytest.approx(at_data.max())
    assert len(guesses.actions) == 2
    for choice in info.choices:
        assert choice.query == info.x[choice.gain.argmax()]
    queries = sorted(choice.query for choice in info.choices)
    assert min(np.diff(queries)) > 0.2
    assert checked(draw_one_dimension(info, tmp_path, "figure-1")) == ["figure-1.png", "figure-1.svg"]
