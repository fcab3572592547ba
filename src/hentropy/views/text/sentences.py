"""A study in a few plain sentences: its first designs, where its trials stand, and whether they are enough."""

from collections.abc import Mapping, Sequence

from hentropy.core.decisions import Decision
from hentropy.core.decisions.headlines import Quantity
from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import Choice, DesignSpace, Field, Fractions, Parameter, Pool, Space, usual_first
from hentropy.core.spaces.parameters import written
from hentropy.studies.definition import Description, goal_of, stopping_of
from hentropy.studies.definition.building import made_outcomes, outcomes_of
from hentropy.studies.definition.decisions import Named, OwnClass
from hentropy.studies.definition.parts import Command, OutcomeWords, PythonFunction
from hentropy.studies.records import Entry, State, Trial, first_left, in_state
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.setting import TOLD
from hentropy.studies.storage.turns import is_gone, who
from hentropy.studies.study.rules import budget_notes, in_words_of, model_notes, space_notes, spent_sentence
from hentropy.views.text.formats import ago, counted, design, listed, number


def why_so_many(first: int, parameters: int) -> str:
    """Where the number of first designs comes from."""
    return f"the default for {counted(parameters, 'parameter')}" if first == usual_first(parameters) else "as given"


def to_come(first: int, parameters: int, trials: Sequence[Trial]) -> str:
    """How many first designs are still to come and why, in one sentence; nothing once they are all out."""
    left = first_left(first, trials)
    if left == 0:
        return ""
    why = why_so_many(first, parameters)
    begun = in_state(trials, State.RUNNING, State.COMPLETE)
    if not begun:
        return f"The first {counted(first, 'design')} fill the space ({why})."
    earlier = "; earlier measurements count" if any(trial.origin == "attached" for trial in begun) else ""
    lost = "; failed and withdrawn trials do not count" if in_state(trials, State.FAILED, State.WITHDRAWN) else ""
    return f"Space-filling start: {len(begun)} of {counted(first, 'design')} so far ({why}{earlier}{lost})."


def counts(entries: Sequence[Entry]) -> dict[str, int]:
    """How many trials are in each state."""
    states = [entry.trial.state for entry in entries]
    return {state.value: states.count(state) for state in State}


def last_activity(entries: Sequence[Entry], begun: float) -> float:
    """When something last happened."""
    return max([begun, *(entry.ended_at or entry.asked_at for entry in entries)])


def holder(entry: Entry, now: float) -> str:
    """Who has a running trial, and since when."""
    since = f"asked {ago(entry.asked_at)}"
    if entry.lease_until is None:
        return f"waits for a person, {since}"
    if entry.owner is None:
        return f"waits for a worker, {since}"
    if is_gone(entry.owner):
        return f"was with {who(entry.owner)}, which has ended; the next worker takes it ({since})"
    if entry.lease_until < now:
        return f"was with {who(entry.owner)}, which is silent; the next worker takes it ({since})"
    return f"runs with {who(entry.owner)}, {since}"


SHOWN_OPTIONS = 12
"""Options of a parameter that are listed."""


def values_text(parameter: Parameter) -> str:
    """The values that a parameter can have, in short."""
    if isinstance(parameter, Fractions):
        return _parts_text(parameter)
    [field] = parameter.fields("")
    if field.options:
        unit = f" {field.unit}" if field.unit else ""
        shown = [written(option) for option in field.options[:SHOWN_OPTIONS]]
        more = len(field.options) - len(shown)
        listed = (" < " if field.ordered else ", ").join(shown) + (f" and {more} more" if more > 0 else "")
        descriptors = parameter.descriptors if isinstance(parameter, Choice) else ()
        by = f"; described by {', '.join(descriptors)}" if descriptors else ""
        return f"{listed}{unit}{', logarithmic' * field.log}{by}"
    return field_text(field)


def field_text(field: Field) -> str:
    """The range of a number, in short."""
    unit = f" {field.unit}" if field.unit else ""
    step = f" in steps of {number(field.grid)}" if field.grid and not (field.whole and field.grid == 1) else ""
    return f"{number(field.low)} to {number(field.high)}{unit}{step}{', logarithmic' * field.log}"


def _parts_text(parts: Fractions) -> str:
    unit = f" {parts.unit}" if parts.unit else ""
    most = f", at most {parts.at_most} above zero" if parts.at_most is not None else ""
    bounds = [
        f"; {field.name} from {number(field.low)} to {number(field.high)}"
        for field in parts.fields("")
        if field.low > 0 or field.high < parts.total
    ]
    return f"{' + '.join(parts.names)} = {number(parts.total)}{unit}{most}{''.join(bounds)}"


def conditions_sentences(space: DesignSpace) -> list[str]:
    """What designs must satisfy, and how much that leaves."""
    said = []
    if isinstance(space, Space) and space.where:
        said += [f"Every design satisfies {condition}." for condition in space.where if isinstance(condition, str)]
        anywhere = Space(**space.parameters).sample(TRIED, seed=0)
        count = int(space.holds(anywhere).sum())
        said.append(f"Of {TRIED} designs spread over the space, {count} satisfy {_them(len(space.where))}.")
    if space.same_in_batch:
        said.append(f"All experiments of a batch have the same {', '.join(space.same_in_batch)}.")
    return said


TRIED = 100
"""Designs by which it is said how many satisfy the conditions."""


def _them(conditions: int) -> str:
    return {1: "this condition", 2: "both conditions"}.get(conditions, f"all {conditions} conditions")


MODELS = {
    "auto": "models of two kinds, one of them about transformed outcomes where these are skewed, are averaged, weighted"
    " by how well they predict",
    "map": "one model is fitted",
    "mixture": "several models of one kind are averaged",
    "families": "models of two kinds are averaged, weighted by how well they predict",
    "transformed": "models of two kinds, one of them about transformed outcomes where these are skewed, are averaged,"
    " weighted by how well they predict",
}


def decision_sentence(description: Description) -> str:
    """What will be decided."""
    what = _decision(description)
    if isinstance(description.decision, Named):
        return f"In the end you will have {what}.{_settings(description.decision)}"
    return f"It decides by {what}."


def _settings(words: Named) -> str:
    """What is set otherwise than by default and not said yet: a sentence, or nothing."""
    goal = goal_of(words.name)
    asked = {ask.option for ask in goal.asks} if goal else set(words.model_dump())
    if goal is not None and goal.said:
        asked = {option for option in asked if f"{{{option}}}" in goal.said}
    said = {"name", "outcome", "subject_to", "largest", "above", "among", *asked}
    given = words.model_dump(mode="json", exclude_defaults=True)
    others = [f"{key} {_value(value)}" for key, value in given.items() if key not in said and value not in (None, [])]
    return f" Settings: {', '.join(others)}." if others else ""


def decided_sentence(description: Description) -> str:
    """What is decided, as the heading of it."""
    what = _decision(description)
    return what[0].upper() + what[1:] if isinstance(description.decision, Named) else f"Decided by {what}"


def _decision(description: Description) -> str:
    words = description.decision
    options = {
        key: value
        for key, value in words.model_dump(mode="json").items()
        if key not in ("name", "python", "own") and value not in (None, [])
    }
    if isinstance(words, OwnClass):
        said = "".join(f", {key} {_value(value)}" for key, value in options.items())
        return f"a class of your own ({words.python}{said})"
    if not isinstance(words, Named):
        return "a class made in Python, which a file cannot describe"
    goal = goal_of(words.name)
    given = {ask.option: options[ask.option] for ask in goal.asks if ask.option in options} if goal else options
    if goal is not None and goal.said:
        about = _about(options.get("outcome"), description)
        unit = _unit(options.get("outcome"), description)
        texts = {key: _value(value) + (unit if key in LEVELS else "") for key, value in given.items()}
        said = goal.said.format(**texts | _meanings(given, about))
    else:
        listed_options = ", ".join(f"{key} {_value(value)}" for key, value in given.items())
        said = f"{goal.answer if goal else words.name}{f' ({listed_options})' if given else ''}"
    said += " among those measured" if options.get("among") == "measured" else ""
    limits = options.get("subject_to")
    return f"{said}, with {listed(_limits(limits, description))}" if isinstance(limits, list) else said


def _limits(limits: Sequence[str], description: Description) -> list[str]:
    """Limits on outcomes, with their units."""
    known = made_outcomes(description).quantities
    return [limit.in_words(known.get(limit.outcome, Quantity(limit.outcome))) for limit in parse_limits(limits)]


def _about(named: object, description: Description) -> str:
    """What the value is that a decision is about: an outcome, or the probability of what it says; maybe nothing."""
    name = _outcome(named, description)
    one = outcomes_of(description).get(name)
    if not isinstance(one, Outcome) or one.kind == "number":
        return name
    return f"probability of {one.event(name)}"


def _outcome(named: object, description: Description) -> str:
    """The name of the outcome that a decision is about; maybe nothing."""
    measured = [name for name, one in description.outcomes.items() if one.computed is None]
    return named if isinstance(named, str) else measured[0] if len(measured) == 1 else ""


LEVELS = ("threshold", "thresholds")
"""Options that are values of the outcome."""


def _unit(named: object, description: Description) -> str:
    """The unit of the outcome that a decision is about, as it stands behind a number."""
    one = outcomes_of(description).get(_outcome(named, description))
    return f" {one.unit}" if isinstance(one, Outcome) and one.kind == "number" and one.unit else ""


def _meanings(options: Mapping[str, object], about: str) -> dict[str, str]:
    """What a sentence says of options that are yes, no, a number or a keyword, and of the outcome it is `about`."""
    value, several, what = about or "value", "" if options.get("k") == 1 else "s", str(options.get("what"))
    top = f"highest {about}" if about else "maximum"
    keywords = {"argmax": f"where the {top} is", "max": f"how high the {top} is"}
    return {
        "best": "highest" if options.get("largest", True) else "lowest",
        "side": "above" if options.get("above", True) else "below",
        "value": value,
        "values": f"values of {about}" if about else "values",
        "designs": f"design{several}",
        "candidates": f"candidate{several}",
        "what": keywords.get(what, what),
    }


ENDS = {"max": "high", "min": "low"}


def _wanted(name: str, value: object) -> str:
    """What is wanted of an outcome: high or low, a value, a band, or words."""
    if isinstance(value, list):
        return f"{name} {' to '.join(map(number, value))}"
    if isinstance(value, str):
        return f"{ENDS[value]} {name}" if value in ENDS else f"{name} {value}"
    return f"{name} {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return listed([_wanted(name, each) for name, each in value.items()])
    if isinstance(value, list) and isinstance(value[0], list | Mapping):
        return f"the values at {counted(len(value), 'design')}"
    if isinstance(value, list):
        shown = [_value(each) for each in value[:6]]
        return f"{', '.join(shown)}, ..." if len(value) > 6 else listed(shown)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)


def first_sentence(first: int, description: Description, trials: Sequence[Trial] = ()) -> str:
    """How it begins, and how experiments are chosen then."""
    what = "the space" if description.pool is None else "the pool"
    said = description.model
    model = f"{said.hyperparameters}: {MODELS[said.hyperparameters]}" if said.python is None else said.python
    parameters = len(description.designs().fields)
    left = first_left(first, trials)
    so_far = f" {left} of them {'is' if left == 1 else 'are'} still to come." if trials and left else ""
    so_far = " All of them have been asked for." if trials and not left else so_far
    return (
        f"The first {counted(first, 'design')} fill {what} ({why_so_many(first, parameters)}; attached data count)."
        f"{so_far} Then each experiment is the one with the largest gain ({model})."
    )


def notes_of(description: Description, first: int, trials: Sequence[Trial] = ()) -> tuple[str, ...]:
    """What a person should know of a study; of a decision of one's own nothing is known."""
    words, space = description.decision, description.designs()
    of_decision = words.instance.notes(space) if isinstance(words, Named) else ()
    budget = budget_notes(stopping_of(description), first, trials)
    return (*of_decision, *space_notes(space), *budget, *model_notes(description.model.python))


def objective_sentence(description: Description) -> str:
    """Who runs the experiments."""
    said = description.objective
    if isinstance(said, PythonFunction):
        who = f"The function {said.function} runs the experiments"
    elif isinstance(said, Command):
        who = f"The program {' '.join(said.command)} runs the experiments"
    else:
        return "You run the experiments: hentropy ask says which, hentropy tell takes the values."
    timeout = "" if said.timeout is None else f", each for at most {number(said.timeout)} s"
    retries = f"; a failed one is retried {counted(said.retries, 'time')}" if said.retries else ""
    return f"{who}{timeout}{retries}."


def spent(description: Description, trials: Sequence[Trial]) -> str:
    """What was spent, of what there is, in a sentence; nothing while nobody knows of costs."""
    return spent_sentence(stopping_of(description), trials, "" if description.cost is None else description.cost.unit)


def worth_of(trial: Trial, description: Description) -> str:
    """What was expected of a trial when it was chosen, in the words of the decision: about 0.4 % yield.

    A class of one's own is not run here: then it is in the units of its loss.
    """
    return gain_in_words(description, trial.gain or 0.0, trial.gain_error or 0.0)


def worths_of(trials: Sequence[Trial], description: Description) -> dict[int, str]:
    """What was expected of trials that were chosen by their gain, by number, as `worth_of` says it."""
    chosen = [trial for trial in trials if trial.gain is not None]
    if not chosen:
        return {}
    decision, about = _decided(description)
    return {trial.number: in_words_of(decision, about, trial.gain or 0.0, trial.gain_error or 0.0) for trial in chosen}


def gain_in_words(description: Description, gain: float, error: float = 0.0) -> str:
    """A gain in the words of the decision."""
    return in_words_of(*_decided(description), gain, error)


def _decided(description: Description) -> tuple[Decision | None, Quantity]:
    """The decision, unless it is a class of one's own, and what it is about."""
    outcomes = made_outcomes(description)
    decision = description.decision.instance if isinstance(description.decision, Named) else None
    return decision, outcomes.about(outcomes.measured if decision is None else outcomes.decided(decision))


def _seen(one: OutcomeWords) -> str:
    """What is seen of an outcome that is no number."""
    words = ("yes", "no") if one.kind == "yes/no" else one.grades
    return f" ({' or '.join(part for part in (', '.join(words[:-1]), *words[-1:]) if part)})" if words else ""


def outcome_sentences(description: Description) -> list[str]:
    """What is measured and computed; nothing where there is the one outcome "value"."""
    said = [
        f"{name}{f' in {one.unit}' if one.unit else ''}{_bounds(one)}{' (on a logarithmic scale)' * one.log}"
        f"{_seen(one)}"
        for name, one in description.outcomes.items()
    ]
    named = dict(zip(description.outcomes.items(), said, strict=True)) if said else {}
    measured = [text for (_, one), text in named.items() if one.computed is None]
    computed = [f"{text}: {one.computed}" for (_, one), text in named.items() if one.computed is not None]
    said = [f"Experiments measure {listed(measured)}."] * bool(measured and not description.assays)
    return [
        *said,
        *noise_sentences(description),
        *(f"Computed, {text}." for text in computed),
        *assay_sentences(description),
    ]


def _bounds(one: OutcomeWords) -> str:
    """The values that an outcome can have, where that is stated."""
    if one.low is not None and one.high is not None:
        return f" (from {number(one.low)} to {number(one.high)})"
    ends = (("at least", one.low), ("at most", one.high))
    return "".join(f" ({side} {number(end)})" for side, end in ends if end is not None)


def noise_sentences(description: Description) -> list[str]:
    """By how much results differ when an experiment is repeated, as far as that is stated."""
    said = []
    for name, one in description.outcomes.items():
        if one.noise is not None:
            unit = f" {one.unit}" if one.unit else ""
            differs = f"differs by about {number(one.noise)}{unit} (standard deviation)" if one.noise else "is the same"
            said.append(f"The {name} of a repeated experiment {differs}.")
        if one.tails is not None:
            said.append(
                f"The {name} may be grossly wrong now and then: what other results contradict counts for little."
            )
    return said


def assay_sentences(description: Description) -> list[str]:
    """What one experiment measures, by which assay and for how much; nothing where each measures everything."""
    if not description.assays:
        return []
    assays = made_outcomes(description).assays
    unit = f" {description.cost.unit}" if description.cost is not None and description.cost.unit else ""
    each = [f"{name} ({listed(one.measures)}) for {number(one.cost)}{unit}" for name, one in assays.items()]
    every = number(assays.cost_of(assays.everything))
    never = [name for name in assays.measured if name not in assays.everything]
    return [
        f"An experiment runs one assay: {' or '.join(each)}; the gain {_per_cost(description)} decides which.",
        f"The first designs measure {listed(assays.everything)}, for {every}{unit}.",
        *([f"No assay measures {listed(never)}; what you know of it may be told all the same."] if never else []),
    ]


def _per_cost(description: Description) -> str:
    price = None if description.cost is None else description.cost.price
    return "per cost" if price is None else f"minus {number(price)} times cost"


def cost_sentences(description: Description) -> list[str]:
    """What experiments cost, and how that counts; nothing where nobody says."""
    cost = description.cost
    if cost is None or cost.of is None:
        return []
    unit = f" {cost.unit}" if cost.unit else ""
    if cost.of == TOLD:
        known = f"Each result comes with its cost{f' in{unit}' if unit else ''}; a model predicts other costs."
    elif isinstance(cost.of, str):
        known = f"The cost of an experiment{f', in{unit}' if unit else ''}: {cost.of}."
    else:
        known = f"Every experiment costs {number(cost.of)}{unit}."
    assay = " The cost of its assay is added." if description.assays else ""
    return [f"{known}{assay} Experiments are chosen by gain {_per_cost(description)}."]


def decide_on_sentences(description: Description) -> list[str]:
    """Where the decision may lie, if not anywhere in the space."""
    words = description.decide_on
    if words is None:
        return []
    where = words.build()
    if not isinstance(where, DesignSpace):
        return [f"The recommendation has {design(where)}."]
    if isinstance(where, Pool):
        return [f"The recommendation is taken from a separate list of {counted(len(where.points), 'design')}."]
    ranges = "; ".join(f"{name} {values_text(parameter)}" for name, parameter in where.parameters.items())
    conditions = "".join(f"; {condition}" for condition in words.where)
    return [f"The recommendation lies in different ranges: {ranges}{conditions}."]


def stop_sentence(description: Description) -> str:
    """When it ends."""
    stop = description.stop
    rules = []
    if stop.trials is not None:
        rules.append(f"after {counted(stop.trials, 'experiment')}")
    if stop.seconds is not None:
        rules.append(f"{number(stop.seconds)} s after its start")
    if stop.gain_below is not None:
        times = "" if stop.patience == 1 else f" {stop.patience} times in a row"
        rules.append(f"when the best experiment gains less than {number(stop.gain_below)}{times}")
    if stop.cost is not None:
        rules.append(f"when the best experiment saves less than {number(stop.cost)}")
    if stop.spend is not None:
        unit = f" {description.cost.unit}" if description.cost is not None and description.cost.unit else ""
        rules.append(f"once {number(stop.spend)}{unit} are spent")
    if stop.worth_its_cost:
        rules.append("when the best experiment is expected to save less than it costs")
    if not rules:
        rules.append("when you stop it")
    if stop.when_exhausted:
        rules.append("when no experiment is expected to improve the decision any more")
    return f"It stops {', or '.join(rules)}."
