"""Whether studies can be believed: predictions at proposed designs, stated values of verdicts, recommended designs.

    .venv/bin/python -m benchmarks.calibration --seeds 1 2 3 --workers 16 --out out/calibration.jsonl
    .venv/bin/python -m benchmarks.calibration --summary out/calibration.jsonl --write-docs

Default `Maximize` studies in memory, of functions with 2 to 10 parameters, smooth and rough ones. Each experiment that
the model chooses is predicted before its result comes: mean, standard deviation, 90 % interval of the observation.
After each result the verdict states the value of the design that it recommends, as mean and standard deviation, which
is compared with the true one. The functions were chosen before any result was looked at; seeds from 100 on are for
tuning, those below for tables.
"""

import argparse
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import hentropy as he
from benchmarks.sweeps import read_rows, recorded, results_of
from hentropy.bench.problems import Alpine, Problem, published_minimum, standard
from hentropy.core.beliefs import Belief, Gaussian, Needs, Transformed
from hentropy.core.decisions.advantage import advantage
from hentropy.studies.records import Trial

FUNCTIONS: dict[str, Callable[[], Problem]] = {
    "Branin": partial(published_minimum, "Branin"),
    "SixHumpCamel": partial(published_minimum, "SixHumpCamel"),
    "GoldsteinPrice": partial(published_minimum, "GoldsteinPrice"),
    "Alpine-2": lambda: Problem("Alpine-2", Alpine(2), Alpine(2).space, he.Maximize()),
    "Hartmann-3": partial(standard, "hartmann-3"),
    "Ackley-4": partial(standard, "ackley-4"),
    "Shekel-4": partial(standard, "shekel"),
    "Levy-4": partial(standard, "levy-4"),
    "Rastrigin-4": partial(standard, "rastrigin-4"),
    "Rosenbrock-4": partial(standard, "rosenbrock-4"),
    "Michalewicz-5": partial(standard, "michalewicz-5"),
    "Hartmann-6": partial(standard, "hartmann-6"),
    "Cosine-8": partial(standard, "cosine-8"),
    "StyblinskiTang-10": partial(published_minimum, "StyblinskiTang"),
    "logRosenbrock-10": partial(published_minimum, "logRosenbrock"),
}

FIVE = ("Branin", "Alpine-2", "Hartmann-3", "Ackley-4", "Hartmann-6")
"""Those of the settings with heavy tails and with one set of hyperparameters."""

NOISE = 0.1
"""The standard deviation of the noise, or the scale of its heavy tails, in spreads of the function."""

TAIL_FREEDOM = 3.0
"""The degrees of freedom of Student's t distribution: heavy tails."""


@dataclass(frozen=True)
class Setting:
    """What is measured how often, with which noise, and how the study treats hyperparameters. The noise is unknown."""

    functions: tuple[str, ...]
    queries: int
    noise: float = 0.0
    heavy: bool = False
    hyperparameters: str = "auto"


SETTINGS = {
    "noiseless": Setting(tuple(FUNCTIONS), 60),
    "noisy": Setting(tuple(FUNCTIONS), 40, NOISE),
    "heavy tails": Setting(FIVE, 40, NOISE, heavy=True),
    "map": Setting(FIVE, 40, NOISE, hyperparameters="map"),
}


@dataclass(frozen=True)
class Job:
    """One study."""

    setting: str
    function: str
    seed: int


def jobs(settings: Iterable[str], functions: Iterable[str], seeds: Iterable[int]) -> list[Job]:
    """Whole tables one after the other, seed by seed, so that a time limit leaves complete ones.

    In each the longest studies come first: no worker waits long for another one at the end.
    """
    names, wanted = list(settings), set(functions)
    found = []
    for seed in seeds:
        each = [Job(name, function, seed) for name in names for function in SETTINGS[name].functions]
        place = {function: i for i, function in enumerate(FUNCTIONS)}
        each.sort(key=lambda job: (-SETTINGS[job.setting].queries, -place[job.function]))
        found += [job for job in each if job.function in wanted]
    return found


@dataclass(frozen=True)
class Measured:
    """A function to be maximised, `rows` (... x d) to values (...), with the noise of its measurements."""

    problem: Problem
    sign: float
    noise: float
    heavy: bool
    generator: torch.Generator

    @classmethod
    def of(cls, job: Job) -> "Measured":
        """The function of a job; noises of equal seeds are equal."""
        problem, setting = FUNCTIONS[job.function](), SETTINGS[job.setting]
        sign = -1.0 if isinstance(problem.decision, he.Minimize) else 1.0
        spread = float(problem(problem.space.sample(4096, 0)).std())
        generator = torch.Generator().manual_seed(7919 * job.seed + list(FUNCTIONS).index(job.function))
        return cls(problem, sign, setting.noise * spread, setting.heavy, generator)

    def true(self, rows: Tensor) -> Tensor:
        """The value itself."""
        return self.sign * self.problem(rows)

    def measure(self, row: Tensor) -> float:
        """One result at a design (d)."""
        error = torch.randn((), generator=self.generator, dtype=torch.float64)
        if self.heavy:
            squares = torch.randn(int(TAIL_FREEDOM), generator=self.generator, dtype=torch.float64).square().mean()
            error = error / squares.sqrt()
        return float(self.true(row) + self.noise * error)


NAME = "value"


@torch.no_grad()
def predicted(trial: Trial, row: Tensor, belief: Belief, space: he.Space) -> dict[str, Any]:
    """What was said of an experiment before its result: of all components together, and how far from data it is."""
    said = trial.predictions[NAME]
    gaps = (space.to_unit(belief.X) - space.to_unit(row)).abs().amax(-1)
    low, high = said.interval
    return {
        "mean": said.mean,
        "sd": said.sd,
        "low": low,
        "high": high,
        "widened": said.widened,
        "distance": float(gaps.min()),
        "noise": float(torch.as_tensor(belief.noise_std).mean()),
    }


@torch.no_grad()
def components(belief: Belief, row: Tensor, value: float) -> dict[str, list[float]]:
    """Of each component: weight, mean, standard deviation and log density of the observation, noise standard deviation.

    Means and standard deviations of components about transformed outcomes are those of the normal values behind.
    """
    if not isinstance(belief, Gaussian | Transformed):
        return {}
    normal = belief.latent if isinstance(belief, Transformed) else belief
    moments = normal.moments(row.unsqueeze(0), Needs.VARIANCE)
    noise = normal.noise_variance.unsqueeze(-1)
    mean, sd = moments.mean[:, 0], (moments.variance.clamp_min(0.0) + noise).sqrt().expand_as(moments.mean)[:, 0]
    at = mean.new_tensor(value)
    density = belief.predicted(mean, sd, at) if isinstance(belief, Transformed) else _log_normal(mean, sd, at)
    found = {"weight": normal.weights, "mean": mean, "sd": sd, "density": density, "noise": noise[..., 0].sqrt()}
    return {name: each.expand_as(mean).tolist() for name, each in found.items()}


def _log_normal(mean: Tensor, sd: Tensor, value: Tensor) -> Tensor:
    return torch.distributions.Normal(mean, sd.clamp_min(1e-300)).log_prob(value)


@torch.no_grad()
def decided(study: he.Study, function: Measured) -> dict[str, Any]:
    """The verdict: stated and true value of the recommended design, and those of its rivals.

    `best` is the design with the best result, `likely` that with the best expected value of all measured ones, `bayes`
    that of all designs; of each the true value, and what the belief says of it. `chances` are the probabilities that
    the later ones are better than the earlier ones; components (H x 3) are those of which the next step has weights.
    """
    verdict, belief = study.decide(), study.belief
    [row] = verdict.action
    assert verdict.comparison is not None
    results = [(one.measurements[NAME].value, one) for one in study.records if NAME in one.measurements]
    rows = torch.stack([function.problem.space.encode(one.params) for _, one in results])
    expected = belief.moments(rows.to(belief.X), Needs.VARIANCE).total()[0]
    best, likely = max(range(len(results)), key=lambda i: results[i][0]), int(expected.argmax())
    bayes = verdict.raw if verdict.bayes is None else verdict.bayes
    three = torch.cat([rows[[best, likely]], bayes.to(rows)])
    moments = belief.moments(three.to(belief.X), Needs.VARIANCE)
    mean, variance = moments.total()
    own = study.decision.within(study.space)
    better = partial(advantage, own, belief)
    pairs = ((1, 0), (2, 0), (2, 1))
    return {
        "stated": row["mean"],
        "stated_sd": row["sd"],
        "true": float(function.true(verdict.raw[0].to(rows))),
        "measured": bool(verdict.comparison.trials),
        "best": float(function.true(three[0])),
        "likely": float(function.true(three[1])),
        "bayes": float(function.true(three[2])),
        "mean": mean.tolist(),
        "sd": variance.clamp_min(0.0).sqrt().tolist(),
        "component_mean": moments.mean.tolist(),
        "component_sd": moments.variance.clamp_min(0.0).sqrt().tolist(),
        "chances": [better(three[one : one + 1], three[other : other + 1]).chance for one, other in pairs],
    }


def run(job: Job) -> dict[str, Any]:
    """A study with all its steps."""
    setting, function, start = SETTINGS[job.setting], Measured.of(job), time.process_time()
    space = function.problem.space
    assert isinstance(space, he.Space)
    study = he.Study(space, he.Maximize(), seed=job.seed, hyperparameters=setting.hyperparameters)
    steps: list[dict[str, Any]] = []
    for count in range(setting.queries):
        trial = study.ask()
        row = space.encode(trial.params)
        value = function.measure(row)
        step: dict[str, Any] = {"known": count, "value": value, "truth": float(function.true(row))}
        if trial.predictions:
            step["score"] = trial.predictions[NAME].score(value)
            step["predicted"] = predicted(trial, row, study.belief, space)
            step["components"] = components(study.belief, row, value)
        study.tell(trial, value)
        if count + 1 >= study.first:
            step["verdict"] = decided(study, function)
        steps.append(step)
    plain = {"setting": job.setting, "function": job.function, "seed": job.seed, "noise": function.noise}
    return {**plain, "seconds": time.process_time() - start, "steps": steps}


COVERED = 0.9
Z_COVERED = statistics.NormalDist().inv_cdf(0.5 + 0.5 * COVERED)
"""A normal value is within so many standard deviations with this probability."""

ASKED_ERROR, ASKED_SHARE, ASKED_STATED = (0.8, 1.25), (0.85, 0.95), (0.87, 0.95)
"""Asked: the root mean square of standardised errors, results in 90 % intervals, true values in stated ones."""

ASKED_FUNCTIONS, ASKED_WORSE = 12, 0.05
"""Asked: on so many functions; so often may a recommended design be worse than the best measured one."""

SAME = 1e-9
"""True values that differ by a smaller share of their size are the same."""


@dataclass(frozen=True)
class Predictions:
    """Standardised errors of predictions, and their intervals: how many results lay below, and how many above."""

    errors: list[float]
    below: int
    above: int

    @classmethod
    def of(cls, runs: Iterable[dict[str, Any]]) -> "Predictions":
        """At the designs that were proposed in the second half of each run."""
        judged = [
            (step["value"], step["predicted"])
            for run in runs
            for step in run["steps"][len(run["steps"]) // 2 :]
            if "predicted" in step and step["predicted"]["sd"] > 0.0
        ]
        return cls(
            [(value - said["mean"]) / said["sd"] for value, said in judged],
            sum(value < said["low"] for value, said in judged),
            sum(value > said["high"] for value, said in judged),
        )

    @property
    def count(self) -> int:
        return len(self.errors)

    @property
    def error(self) -> float:
        """The root mean square."""
        return math.sqrt(math.fsum(error**2 for error in self.errors) / self.count)

    @property
    def mean(self) -> float:
        return math.fsum(self.errors) / self.count

    @property
    def inside(self) -> float:
        return 1.0 - (self.below + self.above) / self.count


def stated_errors(runs: Iterable[dict[str, Any]], last: bool = False) -> list[float]:
    """By how many stated standard deviations true values of recommended designs differ from what verdicts say."""
    found = []
    for run in runs:
        verdicts = [step["verdict"] for step in run["steps"] if "verdict" in step]
        for said in verdicts[-1:] if last else verdicts:
            gap = said["true"] - said["stated"]
            exact = abs(gap) <= SAME * max(abs(said["true"]), abs(said["stated"]))
            found.append(0.0 if exact else gap / said["stated_sd"] if said["stated_sd"] > 0.0 else math.inf)
    return found


def covered(errors: Sequence[float]) -> float:
    """The share within the stated 90 % interval."""
    return sum(abs(error) <= Z_COVERED for error in errors) / len(errors)


def compared(runs: Sequence[dict[str, Any]], other: str, after: int) -> tuple[int, int, float, int]:
    """Runs in which the recommended design is worse and better than another, the mean difference, and all runs.

    Differences are in spreads of the true values of the run's designs, by the verdict with so many results.
    """
    worse = better = 0
    gaps = []
    for run in runs:
        truths = [step["truth"] for step in run["steps"]]
        said = run["steps"][after - 1]["verdict"]
        gap = said["true"] - said[other]
        gaps.append(gap / statistics.pstdev(truths))
        small = SAME * max(abs(said["true"]), abs(said[other]))
        worse += gap < -small
        better += gap > small
    return worse, better, statistics.mean(gaps), len(runs)


def _within(value: float, asked: tuple[float, float]) -> bool:
    return asked[0] <= value <= asked[1]


def _marked(value: float, asked: tuple[float, float]) -> str:
    return f"{value:.2f}" if _within(value, asked) else f"**{value:.2f}**"


def predictions_table(runs: Sequence[dict[str, Any]]) -> str:
    """By function: errors and intervals at proposed designs, without noise and with it; what misses is bold."""
    lines = [
        "| function | noiseless: error | inside | below, above | noisy: error | inside | below, above |",
        "|---|---|---|---|---|---|---|",
    ]
    held: dict[str, int] = defaultdict(int)
    for function in FUNCTIONS:
        cells = []
        for setting in ("noiseless", "noisy"):
            found = Predictions.of(run for run in runs if (run["setting"], run["function"]) == (setting, function))
            if not found.count:
                cells += ["", "", ""]
                continue
            held[setting] += _within(found.error, ASKED_ERROR) and _within(found.inside, ASKED_SHARE)
            sides = f"{found.below / found.count:.2f}, {found.above / found.count:.2f}"
            cells += [_marked(found.error, ASKED_ERROR), _marked(found.inside, ASKED_SHARE), sides]
        lines.append(f"| {function} | {' | '.join(cells)} |")
    both = ("noiseless", "noisy")
    each = [f"{held[setting]} of {len(FUNCTIONS)} hold both" for setting in both]
    ideal = [f"{_ideal_functions(runs, setting):.1f} of {len(FUNCTIONS)} expected" for setting in both]
    pooled = [_pooled(runs, setting) for setting in both]
    asked = f"{ASKED_ERROR[0]} to {ASKED_ERROR[1]} | {ASKED_SHARE[0]} to {ASKED_SHARE[1]} | {ASKED_FUNCTIONS} functions"
    return "\n".join(
        [
            *lines,
            f"| all | {pooled[0]} | {each[0]} | {pooled[1]} | {each[1]} |",
            f"| perfect normal predictions | 1.00 | 0.90 | {ideal[0]} | 1.00 | 0.90 | {ideal[1]} |",
            f"| asked | {asked} | {asked} |",
        ]
    )


def _pooled(runs: Sequence[dict[str, Any]], setting: str) -> str:
    """Of all functions together: the root mean square of normal scores up to 6, and the share inside."""
    own = [run for run in runs if run["setting"] == setting]
    found = Predictions.of(own)
    if not found.count:
        return "|"
    scores = [
        max(-6.0, min(6.0, step["score"]))
        for run in own
        for step in run["steps"][len(run["steps"]) // 2 :]
        if "score" in step
    ]
    said = f"scores {math.sqrt(math.fsum(one * one for one in scores) / len(scores)):.2f}" if scores else ""
    return f"{said} | {found.inside:.2f}"


def _ideal_functions(runs: Sequence[dict[str, Any]], setting: str) -> float:
    """On how many functions perfect normal predictions hold both figures, by chance."""
    return sum(
        ideal_share(Predictions.of(run for run in runs if (run["setting"], run["function"]) == (setting, one)).count)
        for one in FUNCTIONS
    )


@cache
def ideal_share(count: int) -> float:
    """The probability that so many errors N(0, 1) hold both figures, to 0.01 or so."""
    if not count:
        return 0.0
    draws = torch.randn(4000, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    error, inside = draws.square().mean(-1).sqrt(), (draws.abs() <= Z_COVERED).double().mean(-1)
    held = [(each >= low) & (each <= high) for each, (low, high) in ((error, ASKED_ERROR), (inside, ASKED_SHARE))]
    return float((held[0] & held[1]).double().mean())


def verdicts_table(runs: Sequence[dict[str, Any]]) -> str:
    """By setting: how often the true value of the recommended design is in the stated interval."""
    lines = [
        "| setting | verdicts | in the stated 90 % interval | last verdict of a run | mean error | asked |",
        "|---|---|---|---|---|---|",
    ]
    for setting, made in SETTINGS.items():
        for label, functions in (("", tuple(FUNCTIONS)), (", five functions", FIVE)):
            if made.functions == FIVE and not label:
                continue
            own = [run for run in runs if run["setting"] == setting and run["function"] in functions]
            errors, last = stated_errors(own), stated_errors(own, last=True)
            if errors:
                mean = statistics.mean(max(-10.0, min(10.0, error)) for error in errors)
                lines.append(
                    f"| {setting}{label} | {len(errors)} | {_marked(covered(errors), ASKED_STATED)} |"
                    f" {covered(last):.2f} | {mean:+.2f} | {ASKED_STATED[0]} to {ASKED_STATED[1]} |"
                )
    return "\n".join(lines)


def recommended_table(runs: Sequence[dict[str, Any]]) -> str:
    """By setting: the recommended design against the best measured one, or with noise the best by expected value."""
    lines = [
        "| setting | results | compared with | runs | worse | better | mean difference | asked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for setting, after, other in (
        ("noiseless", 40, "best"),
        ("noiseless", 60, "best"),
        ("noisy", 40, "likely"),
        ("noisy", 40, "best"),
        ("heavy tails", 40, "likely"),
        ("map", 40, "likely"),
    ):
        own = [run for run in runs if run["setting"] == setting]
        if own:
            worse, better, mean, count = compared(own, other, after)
            what = "best result" if other == "best" else "best expected value of the measured"
            asked = f"worse in at most {ASKED_WORSE:.0%}, mean above 0" if setting == "noiseless" else "mean at least 0"
            lines.append(
                f"| {setting} | {after} | {what} | {count} | {worse} ({worse / count:.0%}) | {better} | {mean:+.4f} |"
                f" {'' if (setting, other) == ('noisy', 'best') else asked} |"
            )
    return "\n".join(lines)


def summary(runs: Sequence[dict[str, Any]]) -> str:
    """All tables, as Markdown, and which studies they are of."""
    seeds = {name: sorted({run["seed"] for run in runs if run["setting"] == name}) for name in SETTINGS}
    each = [f"{name} {own[0]} to {own[-1]}" for name, own in seeds.items() if own]
    versions = ", ".join(sorted({run["version"] for run in runs}))
    said = f"{len(runs)} studies; seeds: {', '.join(each)}; version {versions}."
    return "\n\n".join([predictions_table(runs), verdicts_table(runs), recommended_table(runs), said])


PAGE = Path(__file__).parent.parent / "docs" / "results" / "calibration.md"
BEGIN, END = "<!-- calibration:begin -->", "<!-- calibration:end -->"


def filled(page: str, text: str) -> str:
    """A page with the tables in their place."""
    if not 0 <= page.find(BEGIN) < page.find(END):
        raise ValueError(f"the page has no place for the tables: no line {BEGIN} above a line {END}")
    return f"{page.split(BEGIN, 1)[0]}{BEGIN}\n{text}\n{END}{page.split(END, 1)[1]}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    options.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    options.add_argument("--functions", nargs="*", choices=list(FUNCTIONS), default=list(FUNCTIONS))
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--max-seconds", type=float, default=math.inf)
    options.add_argument("--out", type=Path, default=Path("out/calibration.jsonl"))
    options.add_argument("--version", default=he.__version__, help="what the tables say that was measured: a commit")
    options.add_argument("--summary", type=Path, metavar="FILE", help="tables of an earlier sweep; measure nothing")
    options.add_argument(
        "--write-docs", action="store_true", help="with --summary: put them into docs/results/calibration.md"
    )
    given = options.parse_args()
    if given.summary is not None:
        text = summary([{"version": given.version, **run} for run in read_rows(given.summary)])
        print(text)
        if given.write_docs:
            PAGE.write_text(filled(PAGE.read_text(), text))
        return
    start, wanted = time.time(), jobs(given.settings, given.functions, given.seeds)
    rows = results_of(run, wanted, given.workers, given.max_seconds)
    for found in recorded(({"version": given.version, **row} for row in rows), given.out):
        said = f"{found['setting']}, {found['function']}, seed {found['seed']}: {found['seconds']:.0f} s of CPU"
        print(f"[{time.time() - start:6.0f} s] {said}", file=sys.stderr, flush=True)
    print(summary([{"version": given.version, **run} for run in read_rows(given.out)]))


if __name__ == "__main__":
    main()
