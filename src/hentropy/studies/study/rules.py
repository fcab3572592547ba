"""The rules of trials: what may be told, what may become of an entry, and when a study has enough.

They are pure functions. A `TrialLog` applies them to entries as they stand in a store.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.decisions.headlines import Quantity, probable, roughly, two_digits
from hentropy.core.spaces import DesignSpace
from hentropy.errors import Advice, InputError, StudyError
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Doubt, Outcomes
from hentropy.studies.records import (
    Entry,
    Failed,
    Judged,
    Measurement,
    PredictionRecord,
    State,
    ToldCost,
    Trial,
    Values,
    in_state,
    judged,
)
from hentropy.studies.records.numbers import short
from hentropy.studies.records.trial import checked_told_cost
from hentropy.studies.stopping import Budget, Standing, StoppingRule
from hentropy.studies.storage import Change


def space_notes(space: DesignSpace) -> tuple[str, ...]:
    """What a person should know of how parameters were taken, in sentences."""
    return tuple(note for name, parameter in space.parameters.items() for note in parameter.notes(name))


def budget_notes(stop: Iterable[StoppingRule], first: int, trials: Iterable[Trial] = ()) -> tuple[str, ...]:
    """Which budgets end before the model has chosen an experiment; data that were attached are first designs too."""
    left = first - sum(trial.origin == "attached" and trial.state is State.COMPLETE for trial in trials)
    return tuple(
        f"the budget of {rule.trials} trial{'s' if rule.trials != 1 else ''} ends with the first designs, of which"
        f" there are {left}: they fill the space, and the model chooses none; raise the budget, or set first lower"
        for rule in stop
        if isinstance(rule, Budget) and rule.trials is not None and rule.trials <= left
    )


def model_notes(model: str | None) -> tuple[str, ...]:
    """Remarks for the user on a custom model with this name."""
    if model is None:
        return ()
    return (
        f"The model is {model}, a function of your own: proposals can be repeated from the records only while it gives"
        " the same belief for the same data and seed.",
    )


FALSE_ALARM = 1e-3
"""The probability of a note about a noise that is stated rightly."""


def noise_notes(outcomes: Outcomes, trials: Iterable[Trial]) -> tuple[str, ...]:
    """Which outcomes differ more in repeated experiments than their stated noise s allows.

    With r results of one design, the sum of squares around their mean, over s^2, is chi squared with r - 1 degrees of
    freedom; over designs these add up. Heavy tails allow any difference.
    """
    repeated: dict[tuple[str, tuple[Any, ...]], list[float]] = {}
    for trial in in_state(trials, State.COMPLETE):
        for name, one in trial.measurements.items():
            if one.std_error is None and outcomes.std_error(name, one) is not None:
                repeated.setdefault((name, tuple(trial.params.values())), []).append(one.value)
    said = []
    for name in (name for name in outcomes.measured if not outcomes.tails(name)):
        groups = [values for (of, _), values in repeated.items() if of == name and len(values) > 1]
        freedom = sum(len(values) - 1 for values in groups)
        squares = sum((value - sum(values) / len(values)) ** 2 for values in groups for value in values)
        # equal but for rounding
        rounding = sum((ROUNDING * value) ** 2 for values in groups for value in values)
        stated = outcomes.std_error(name, Measurement(0.0))
        if stated is None or squares <= rounding or (stated and _tail(squares / stated**2, freedom) > FALSE_ALARM):
            continue
        unit = f" {outcomes.units[name]}" if name in outcomes.units else ""
        found = f"{two_digits(math.sqrt(squares / freedom))}{unit}"
        said.append(
            f"repeated experiments differ in {name} by about {found}, but its noise is stated as {stated:g}{unit};"
            " correct the noise, or leave it out"
        )
    return tuple(said)


DECADES, ENOUGH = 3.0, 8
"""Outcomes that span so many decades, in so many results, are said to be easier to model as logarithms."""


def first_result_notes(outcomes: Outcomes, trials: Iterable[Trial]) -> tuple[str, ...]:
    """Which outcomes have one result alone, of unknown error: nothing is known of how much they vary."""
    done, said = in_state(trials, State.COMPLETE), []
    for name in (name for name in outcomes.measured if not outcomes.words(name)):
        told = [trial.measurements[name] for trial in done if name in trial.measurements]
        if len(told) == 1 and outcomes.std_error(name, told[0]) is None:
            said.append(
                f"one result of {name} does not tell how much it varies: errors are a guess until there are more"
            )
    return tuple(said)


CROWDED = 0.01
"""Designs within this share of the range of every parameter say nothing about the rest of the space."""


def crowded_notes(space: DesignSpace, rows: Sequence[Tensor]) -> tuple[str, ...]:
    """That all designs with a result (1-d rows) lie in one corner of the space, if they are not one design."""
    if len(rows) < 2:
        return ()
    unit = space.to_unit(torch.stack(list(rows)))
    extent = float((unit.amax(0) - unit.amin(0)).max())
    if not 0.0 < extent < CROWDED:
        return ()
    share = f"{two_digits(100.0 * extent)} %"
    return (f"all results are within {share} of the range of each parameter: what is said of other designs is a guess",)


def decades_notes(outcomes: Outcomes, trials: Iterable[Trial]) -> tuple[str, ...]:
    """Which outcomes are positive, span decades, and are not modelled on a log scale."""
    done, said = in_state(trials, State.COMPLETE), []
    for name in outcomes.measured:
        values = [trial.measurements[name].value for trial in done if name in trial.measurements]
        if len(values) < ENOUGH or min(values) <= 0.0 or outcomes.is_log(name):
            continue
        if math.log10(max(values) / min(values)) > DECADES:
            said.append(
                f"{name} ranges from {min(values):.2g} to {max(values):.2g}: if its ratios count rather than its"
                f" differences, a study with log = true for {name} models its logarithm"
            )
    return tuple(said)


ROUNDING = 1e-9
"""Results of a deterministic experiment may differ by this share of them."""


def _tail(squares: float, freedom: int) -> float:
    """The probability that chi squared with this many degrees of freedom is greater."""
    half = torch.tensor([freedom, squares], dtype=torch.float64) / 2.0
    return float(torch.special.gammaincc(half[0], half[1]))


def violations(space: DesignSpace, rows: Tensor) -> str:
    """How many data from outside (n x d) do not satisfy the conditions of the space; empty if all do."""
    count = int((~space.holds(rows)).sum())
    violate = "violates" if count == 1 else "violate"
    whole = f"{count} of {len(rows)} earlier measurements"
    return f"{whole} {violate} the conditions of the space; the model uses them anyway" if count else ""


def checked_record(trial: Any, number: int, outcomes: Outcomes) -> Trial:
    """A record of an earlier study, if it can be the one with this number."""
    if not isinstance(trial, Trial):
        raise InputError(f"record {number} is {trial!r}; records are the Trial objects of study.records")
    if trial.number != number:
        raise InputError(
            f"record {number} has the number {trial.number}; give all records of the earlier study, in their order"
        )
    design = outcomes.space.cleaned(trial.params)
    for name in trial.measures:
        outcomes.check_known(name)
    if trial.state is not State.COMPLETE:
        return replace(trial, params=design, measurements={})
    for name in trial.measurements:
        outcomes.check_known(name)
    told = {name: outcomes.as_told(name, one) for name, one in trial.measurements.items()}
    return replace(trial, params=design, measurements=outcomes.given(told))


def ended_before(
    params: Mapping[str, Any], outcome: Values | Failed, outcomes: Outcomes, cost: ToldCost = None, note: str = ""
) -> Trial:
    """An earlier experiment as a trial, which still needs its number."""
    design, spent = outcomes.space.cleaned(params), checked_told_cost(cost)
    if isinstance(outcome, Failed):
        return Trial(0, design, State.FAILED, origin="attached", note=clean(outcome.reason or note), cost=spent)
    told = outcomes.given(outcome)
    return Trial(0, design, State.COMPLETE, told, origin="attached", note=clean(note), cost=spent)


def told(
    values: Values | None,
    failed: str | None,
    note: str | None,
    again: bool,
    outcomes: Outcomes,
    cost: ToldCost = None,
) -> Change:
    """Values or a failure are told. The same twice is harmless, and what was missing is added; another value is refused
    unless `again`, by which None takes a value back.

    A cost that was told stays, unless another is told or that it is unknown.
    """
    spent = checked_told_cost(cost)

    def rule(old: Entry, now: float) -> Entry:
        was = old.trial
        if (values is None) == (failed is None):
            raise StudyError(f"tell trial {was.number} either a value or failed='why'")
        if failed is not None:
            new = ended(old, State.FAILED, failed, now)
        else:
            read = outcomes.read(values)
            merged = _merged(was.measurements, read, again)
            if not (read and merged):
                raise InputError(f"nothing was measured; tell at least one of {', '.join(outcomes.measured)}")
            new = ended(old, State.COMPLETE, was.note if note is None else note, now, merged)
        if cost is not None:
            new = replace(new, trial=replace(new.trial, cost=spent))
        if was.state in (State.COMPLETE, State.FAILED) and not again:
            if (was.state, was.measurements) == (new.trial.state, new.trial.measurements):
                return replace(old, trial=new.trial)  # only the note may be another one
            known = [name for name, one in was.measurements.items() if new.trial.measurements.get(name) != one]
            if known or was.state is not new.trial.state:
                raise StudyError(f"trial {was.number} already has a result: {_outcome(was, known)}", Advice.CORRECT)
        return new

    return rule


def ended(
    old: Entry, state: State, note: str, now: float, measurements: Mapping[str, Measurement] | None = None
) -> Entry:
    """An entry whose trial comes to its end, in whatever state: nobody has it any more."""
    trial = replace(old.trial, state=state, measurements=measurements or {}, note=clean(note))
    return replace(old, trial=trial, ended_at=now, owner=None, lease_until=None)


def _merged(
    was: Mapping[str, Measurement], told: Mapping[str, Measurement | None], again: bool
) -> dict[str, Measurement]:
    """What was measured before with what is told now; None says that nothing was measured."""
    removed = [name for name, one in told.items() if one is None and again]
    new = {name: one for name, one in told.items() if one is not None}
    return {name: one for name, one in {**was, **new}.items() if name not in removed}


def withdrawn(note: str) -> Change:
    """A trial will not be run after all."""

    def rule(old: Entry, now: float) -> Entry:
        if old.trial.state is not State.RUNNING:
            raise StudyError(
                f"trial {old.trial.number} is {old.trial.state.value}; only a running one can be withdrawn"
            )
        return ended(old, State.WITHDRAWN, note, now)

    return rule


def _outcome(trial: Trial, names: Sequence[str]) -> str:
    """What a trial came to, in short; of several outcomes those that are named."""
    if trial.state is not State.COMPLETE:
        return f"failed ({trial.note})"
    return ", ".join(f"{name} {one.value:g}" for name, one in trial.measurements.items() if name in names)


LAST_JUDGED = 10
"""So many of the last predictions a sentence is about."""

FEWEST_JUDGED = 3
"""Fewer say nothing."""


def record_sentences(trials: Sequence[Trial], outcomes: Outcomes) -> list[str]:
    """How good the last predictions of each outcome were; nothing while too few results are there."""
    several = len(outcomes.measured) > 1
    each = (record_sentence(judged(trials, name), f" of {name}" if several else "") for name in outcomes.measured)
    return [said for said in each if said]


def record_sentence(found: Sequence[Judged], what: str = "") -> str:
    """How good the last predictions were: by how much they were off, and how many results were in their intervals."""
    if len(found) < FEWEST_JUDGED:
        return ""
    last = PredictionRecord.of(found[-LAST_JUDGED:])
    said = (
        f"The last {last.count} predictions{what} were off by {last.error:.1f} of their stated errors (1.0 is ideal);"
        f" {last.inside} of {last.count} results were inside the 90 % interval."
    )
    factor = found[-1].prediction.widened
    return f"{said} Stated errors are {factor:.1f} times as large for this reason." if factor != 1.0 else said


def doubt_sentence(doubts: Sequence[Doubt], outcomes: Outcomes) -> str:
    """Which values are held for gross errors, how probably, and how to say that they are right; nothing without any."""
    if not doubts:
        return ""
    several = len(outcomes.measured) > 1
    *before, last = (
        f"{one.number} ({f'{one.outcome} ' if several else ''}{one.value:.4g}, {probable(one.chance)})"
        for one in doubts
    )
    them, errors = ("them", "their standard errors") if before else ("it", "its standard error")
    again = f"Measure {them} again"
    if not all(outcomes.tails(one.outcome) for one in doubts):  # with heavy tails no standard error makes sure
        again += f"; or, if you are sure of {them}, tell {them} again with {errors} or state the noise of the outcome"
    if not before:
        said = f"Trial {last} is probably a gross error: the other results contradict it, and it counts for little."
    else:
        said = (
            f"Trials {', '.join(before)} and {last} are probably gross errors: the other results contradict them, and"
            " they count for little."
        )
    return f"{said} {again}."


def noise_sentence(belief: Belief, about: Quantity) -> str:
    """That the data do not tell whether an outcome is noisy, and what would; nothing where they do."""
    found = belief.uncertain_noise
    if found is None:
        return ""
    size, chance = found
    noise = f"a factor of {two_digits(math.exp(min(size, 700.0)))}" if about.log else about.with_unit(two_digits(size))
    # behind a transform, the noise of an outcome depends on its value
    by = f"by about {noise}, " if belief.normal else ""
    return (
        f"The data do not tell whether {about.name} is noisy ({by}{probable(chance)} probable) or varies over short"
        " distances: running a good design again would tell, or state the noise."
    )


def clean(text: str) -> str:
    """Text that every database takes: without zero characters and broken code points."""
    return str(text).replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


NOTHING_LEFT = "no experiment is expected to improve the decision any more"


def reason_to_stop(
    rules: Iterable[StoppingRule], trials: Sequence[Trial], seconds: float, *, running: bool = False
) -> str | None:
    """What the first rule says that says stop; with `running`, trials that run count as if they had ended."""
    standing = standing_of(trials, seconds, running)
    return next((reason for rule in rules if (reason := rule.reason(standing))), None)


def trials_left(rules: Iterable[StoppingRule], trials: Sequence[Trial]) -> float:
    """How many more trials the rules let begin, with those that run counted as if they had ended."""
    standing = standing_of(trials, 0.0, running=True)
    return min((rule.left(standing) for rule in rules), default=math.inf)


def standing_of(trials: Sequence[Trial], seconds: float, running: bool) -> Standing:
    """What rules look at; data that were attached are no trials of the study."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    count = sum(trial.state in ended and trial.origin != "attached" for trial in trials)
    proposed = [trial for trial in trials if trial.gain is not None]
    return Standing(
        count,
        seconds,
        tuple(trial.gain for trial in proposed if trial.gain is not None),
        spent_on(trials, running),
        tuple(trial.expected_cost for trial in proposed),
    )


def spent_on(trials: Iterable[Trial], running: bool = False) -> float:
    """What the trials that have ended cost; with `running`, also those that run, as far as it is known."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    return sum(trial.spent or 0.0 for trial in trials if trial.state in ended and trial.origin != "attached")


def spent_sentence(rules: Iterable[StoppingRule], trials: Sequence[Trial], unit: str = "") -> str:
    """What was spent, of what there is: Spent 42 of 60 hours. Nothing while nobody knows of costs."""
    spent = spent_on(trials)
    for rule in rules:
        if isinstance(rule, Budget) and rule.cost is not None:
            return f"Spent {rule.spending(spent)}."
    known = any(trial.spent is not None for trial in trials)
    return f"Spent {short(spent)}{f' {unit}' if unit else ''}." if known else ""


def is_exhausted(entries: Iterable[Entry]) -> bool:
    """Whether the last proposal found nothing left to gain, and nothing was told since that could change that.

    Such a proposal has a gain of exactly zero. If it was run all the same, the one before it must have found nothing
    either: then its value has been looked at, and has changed nothing.
    """
    entries = tuple(entries)
    proposed = [entry for entry in entries if entry.trial.gain is not None]
    if not proposed or proposed[-1].trial.gain != 0:
        return False
    last = proposed[-1]
    if any(_is_news(entry, last) for entry in entries):
        return False
    if last.trial.state is not State.COMPLETE:
        return True
    before = [entry for entry in proposed if entry.asked_at < last.asked_at]
    return bool(before) and before[-1].trial.gain == 0


NOT_WORTH_IT = "Another run is not expected to improve it: stop."
NO_OTHER_RUN = "There is no other run to make: stop."


def another_run(decision: Decision, about: Quantity, entries: Iterable[Entry], ending: str) -> str:
    """What another experiment is worth, in a sentence: the gain of the newest proposal, if nothing was told since.

    Empty where that is not known: then it takes a search.
    """
    entries = tuple(entries)
    if is_exhausted(entries):
        return NOT_WORTH_IT
    proposed = [entry for entry in entries if entry.trial.gain is not None]
    if not proposed or any(_since(entry, proposed[-1]) for entry in entries):
        return ""
    last = proposed[-1].trial
    if not last.gain:
        return ""
    return worth_sentence(decision, about, last.gain, last.gain_error or 0.0, ending)


def ending_of(rules: Iterable[StoppingRule], trials: Sequence[Trial], seconds: float, stopped: str | None) -> str:
    """How the sentence ends that says what another experiment is worth: to stop, if the study is `stopped`.

    It says why if only a rule stops it that does not look at what experiments are worth, such as a budget.
    """
    if stopped is None:
        return ""
    rules = tuple(rules)
    limit = reason_to_stop((rule for rule in rules if not rule.by_gain), trials, seconds)
    enough = reason_to_stop((rule for rule in rules if rule.by_gain), trials, seconds)
    return f", but {limit}: stop" if limit and not enough else ": stop"


def worth_sentence(decision: Decision, about: Quantity, gain: float, error: float, ending: str) -> str:
    """What another experiment is worth, with its gain; and to stop, if there is an `ending_of` it."""
    if not gain:
        return NOT_WORTH_IT
    return f"Another run is worth {in_words_of(decision, about, gain, error)}{ending}."


def in_words_of(decision: Decision | None, about: Quantity, gain: float, error: float) -> str:
    """A gain in the words of the decision, and in the units of its loss if the decision is not known here."""
    if not gain:
        return "nothing"
    return f"{roughly(gain, error)} of expected loss" if decision is None else decision.saving(gain, error, about)


def _since(entry: Entry, last: Entry) -> bool:
    """Whether something became known after a proposal."""
    ended = entry.trial.state in (State.COMPLETE, State.FAILED)
    return ended and (entry.trial.number >= last.trial.number or (entry.ended_at or entry.asked_at) > last.asked_at)


def stands(entries: Iterable[Entry], asked: Entry) -> bool:
    """Whether the gain of a trial is still what it was when it was asked: it was asked alone, and nothing was asked,
    told or taken back since.
    """
    others = [entry for entry in entries if entry.trial.number != asked.trial.number]
    return not any(
        entry.trial.number > asked.trial.number
        or entry.asked_at >= asked.asked_at
        or (entry.ended_at is not None and entry.ended_at > asked.asked_at)
        for entry in others
    )


def _is_news(entry: Entry, last: Entry) -> bool:
    """Whether a value came in, or was corrected, after the last proposal; not those from which nothing was expected."""
    if entry.trial.state is not State.COMPLETE or entry.trial.gain == 0:
        return False
    told = entry.asked_at if entry.ended_at is None else entry.ended_at
    return entry.trial.number > last.trial.number or told > last.asked_at
