"""What the API answers: plain values with names, which OpenAPI describes."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from hentropy.core.given import Tails
from hentropy.views.text.formats import json_text

State = Literal["running", "complete", "failed", "withdrawn"]
Time = Annotated[str, Field(description="A time as ISO 8601 in UTC.")]
Study = Annotated[int, Field(description="The id of the study.")]
Name = Annotated[str, Field(description="The name of the study.")]


class Plain(JSONResponse):
    """JSON in which infinite numbers, which it does not know, are null."""

    def render(self, content: Any) -> bytes:
        """The text of a value."""
        return json_text(content).encode()


class DocAnswer(BaseModel):
    """A page of the documentation."""

    name: Annotated[str, Field(description="Its name, which stays: constraints, csv, ...")]
    path: Annotated[str, Field(description="Its path on the documentation site: howto/constraints.html.")]


class Mistake(BaseModel):
    """What went wrong."""

    id: Annotated[str, Field(description="The id under which the log of the server has more.")]
    kind: Annotated[
        Literal["input", "study", "gone", "store", "busy", "access", "internal"],
        Field(description="What kind of problem it is."),
    ]
    sentence: Annotated[str, Field(description="What went wrong, for a person.")]
    details: Annotated[list[str] | None, Field(description="A line for each mistake.")] = None
    what: Annotated[str | None, Field(description="The sentence without what it advises, where it advises.")] = None
    advice: Annotated[str | None, Field(description="What it advises, as a value: correct, tell_failed, ...")] = None
    docs: Annotated[DocAnswer | None, Field(description="The page of the documentation that helps.")] = None


class ErrorAnswer(BaseModel):
    """An answer that says what went wrong."""

    error: Mistake


class MeasurementAnswer(BaseModel):
    """A measured value, and its standard error if that was told."""

    value: float
    std_error: float | None


class PredictionAnswer(BaseModel):
    """What was expected of a measurement before its result came, noise included."""

    mean: float
    sd: float
    quantiles: Annotated[
        list[float],
        Field(
            description="The values below which 0.1, 0.5, 1, 2.5, 5, 10, 15, ..., 90, 95, 97.5, 99, 99.5, 99.9 % lie."
        ),
    ]
    widened: Annotated[
        float, Field(description="The factor that the record of predictions had put on its standard deviation.")
    ]
    log: Annotated[bool, Field(description="Whether the outcome is modelled by its logarithm.")]
    families: Annotated[
        dict[str, list[float]],
        Field(description="What each family of models expects: below which 0.1, 2.5, 16, 50, 84, 97.5, 99.9 % lie."),
    ]
    quantile: Annotated[
        float | None, Field(description="The probability of a smaller result than the one that came; null before.")
    ]


class TrialAnswer(BaseModel):
    """One experiment: its design, what was expected of it, and what came of it."""

    number: int
    params: Annotated[dict[str, bool | int | float | str | None], Field(description="The design, by parameter.")]
    state: State
    measurements: Annotated[dict[str, MeasurementAnswer], Field(description="What was measured, by outcome.")]
    gain: Annotated[float | None, Field(description="The gain that was expected when it was chosen.")]
    gain_error: float | None
    entropy: Annotated[float | None, Field(description="The expected loss of the decision when it was chosen.")]
    origin: Literal["first", "proposed", "attached"]
    note: str
    expected_cost: Annotated[float | None, Field(description="What it should cost, as far as that is known.")]
    cost: Annotated[float | None, Field(description="What it cost, if that was told.")]
    measures: Annotated[list[str], Field(description="The outcomes that it is to measure; empty: all of them.")]
    predictions: Annotated[
        dict[str, PredictionAnswer],
        Field(description="What was expected of each outcome when the model chose it; empty for other trials."),
    ]
    asked_at: Time
    ended_at: Time | None


class ObservationAnswer(BaseModel):
    """One thing that was told of a trial."""

    number: int
    at: Time
    by: str
    state: State
    measurements: dict[str, MeasurementAnswer]
    note: str
    cost: float | None


class RivalAnswer(BaseModel):
    """A design beside the recommended one, and what the recommended one is expected to save over it."""

    row: Annotated[dict[str, Any], Field(description="The design and what is known of it, as in a row of an action.")]
    trials: Annotated[list[int], Field(description="The trials that measured it; none if it was never run.")]
    values: Annotated[dict[str, float], Field(description="The means of what they measured, by outcome.")]
    advantage: Annotated[
        float, Field(description="What the recommended design saves over it, in units of the loss; maybe below 0.")
    ]
    spread: Annotated[float, Field(description="The standard deviation of that.")]
    chance: Annotated[float, Field(description="The probability that the recommended design is truly better.")]


class ComparisonAnswer(BaseModel):
    """The recommended design beside those that were measured."""

    sentence: str
    trials: Annotated[list[int], Field(description="The trials that measured it; none if it was never run.")]
    values: Annotated[dict[str, float], Field(description="The means of what they measured, by outcome.")]
    best: Annotated[
        RivalAnswer | None, Field(description="The measured design with the best values, where that is another one.")
    ]
    alternative: Annotated[
        RivalAnswer | None,
        Field(
            description="The design with the best expectation, where it has no clear advantage and is not recommended."
        ),
    ]
    forgone: Annotated[float, Field(description="How much more the recommended design is expected to cost than that.")]


class VerdictAnswer(BaseModel):
    """What would be decided."""

    headline: Annotated[str, Field(description="The answer in a sentence.")]
    worth: Annotated[str, Field(description="What another experiment is worth, in a sentence; empty if not known.")]
    decision: Annotated[str, Field(description="The decision, as Python shows it.")]
    observations: Annotated[int, Field(description="How many values were known.")]
    failed: Annotated[int, Field(description="How many experiments had failed beside.")]
    expected_loss: float | None
    std_error: Annotated[float | None, Field(description="The Monte Carlo error of the expected loss.")]
    action: Annotated[list[dict[str, Any]], Field(description="Rows of named values.")]
    comparison: Annotated[
        ComparisonAnswer | None,
        Field(description="The recommended design beside the measured ones; null where not one design is decided on."),
    ] = None


class RecordedVerdict(VerdictAnswer):
    """A verdict and when it was reached."""

    at: Time


class Counts(BaseModel):
    """How many trials are in each state."""

    running: int
    complete: int
    failed: int
    withdrawn: int


class About(BaseModel):
    """Which study an answer is about."""

    id: Study
    name: Name
    created_at: Annotated[Time, Field(description="When it was begun: a later study may get its id and its name.")]


class SummaryAnswer(About):
    """A study in a list."""

    decision: str
    trials: int
    counts: Counts
    last_activity: Time


class StudiesAnswer(BaseModel):
    """The studies of the store, the oldest first."""

    studies: list[SummaryAnswer]


class Waiting(BaseModel):
    """A trial that runs, and who has it."""

    number: int
    who: str


class ValueOfDesigns(BaseModel):
    """A value that every design has, in the order of the columns."""

    name: str
    unit: str
    kind: Annotated[
        str | None, Field(description="real, integer, levels, choice, ...; null for columns that are not modelled.")
    ]
    log: Annotated[bool | None, Field(description="Whether equal ratios count as equal steps.")]
    step: Annotated[float | None, Field(description="The step of a grid; null for any number, and for options.")]
    low: Annotated[
        float | None, Field(description="The smallest number; null for options and columns that are not modelled.")
    ]
    high: Annotated[float | None, Field(description="The largest number.")]
    options: Annotated[
        list[bool | int | float | str] | None, Field(description="What can be chosen; null for numbers in a range.")
    ]


class OutcomeAnswer(BaseModel):
    """Something that is measured, or computed from the design by an expression."""

    name: str
    unit: str
    kind: Annotated[str, Field(description="number, yes/no, grades or computed.")]
    log: bool
    grades: Annotated[list[str], Field(description="Its grades, from the worst to the best; values count them from 0.")]
    computed: str | None
    noise: Annotated[
        float | None,
        Field(description="The standard deviation of one measurement; 0: none; null: it is learned from the data."),
    ]
    low: Annotated[float | None, Field(description="The least value that it can have.")]
    high: Annotated[float | None, Field(description="The greatest value that it can have.")]
    tails: Annotated[
        Tails | None, Field(description="heavy: a result may be grossly wrong now and then; null: errors are normal.")
    ]


class StudyAnswer(About):
    """A study: what it is and where it stands."""

    versions: dict[str, str]
    definition: Annotated[dict[str, Any], Field(description="The study in words, as in a study file.")]
    design: Annotated[list[ValueOfDesigns], Field(description="What a design consists of.")]
    outcomes: Annotated[list[OutcomeAnswer], Field(description="What is measured, in the order of the columns.")]
    says: Annotated[list[str], Field(description="What it will do, in sentences.")]
    revision: Annotated[int, Field(description="Every change of a trial makes it greater.")]
    counts: Counts
    first_left: Annotated[int, Field(description="How many first designs, which fill the space, are still to come.")]
    spent: Annotated[float, Field(description="What the trials that have ended cost, as far as it is known.")]
    spending: Annotated[str | None, Field(description="The same in words: Spent 42 of 60 hours. Null without costs.")]
    stopped: Annotated[str | None, Field(description="Why the study has enough; null while it should go on.")]
    enough: Annotated[str | None, Field(description="The same, with running trials counted as if they had ended.")]
    computable: Annotated[str | None, Field(description="Null, or why nothing can be asked or decided here.")]
    running: list[Waiting]
    predictions: Annotated[list[str], Field(description="How good the last predictions were, in sentences.")]
    verdict: Annotated[RecordedVerdict | None, Field(description="What was last decided.")]


class TrialsAnswer(About):
    """Trials of a study, in the order of their numbers."""

    revision: int
    trials: list[TrialAnswer]


class OneTrial(About):
    """A trial as it stands now, and why the study has enough, if it has."""

    trial: TrialAnswer
    stopped: str | None


class HistoryAnswer(About):
    """A trial, and all that was ever told of it."""

    trial: TrialAnswer
    history: list[ObservationAnswer]


class AttachedAnswer(About):
    """What was attached, and what was left out."""

    trials: list[TrialAnswer]
    left_out: Annotated[list[str], Field(description="What is wrong with rows that were left out.")]
    unused: Annotated[list[str], Field(description="Columns that nothing was taken from.")]


class VerdictsAnswer(About):
    """All verdicts recorded, the oldest first."""

    verdicts: list[RecordedVerdict]


class JobAnswer(BaseModel):
    """A piece of work in the background."""

    id: str
    kind: Literal["ask", "look", "inquire"]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    phase: Annotated[str, Field(description="What goes on, in words.")]
    created_at: Time
    began_at: Time | None
    ended_at: Time | None
    count: Annotated[int, Field(description="How many experiments are asked for.")]
    error: Annotated[str | None, Field(description="Why it failed.")]


class WorthAnswer(BaseModel):
    """What one more experiment is expected to save, in units of the loss."""

    sentence: str
    next_experiment: Annotated[str | None, Field(description="Which one; null if there is none.")]
    running_as_trial: Annotated[int | None, Field(description="Its number, if it runs already.")]
    gain: Annotated[float | None, Field(description="What it is expected to save; null while designs fill the space.")]
    gain_error: Annotated[float | None, Field(description="The Monte Carlo error of the gain.")]
    stopped: Annotated[str | None, Field(description="Why the study should stop now; null if it should not.")]
    price: float | None
    worth_it: Annotated[bool | None, Field(description="Whether the gain is above the price; null without these.")]


class WhatIfAnswer(BaseModel):
    """What would be decided now, and after a result that is assumed."""

    now: VerdictAnswer
    then: VerdictAnswer
    change_of_expected_loss: float


class PredictAnswer(BaseModel):
    """What is expected of designs."""

    predictions: Annotated[
        list[dict[str, Any]],
        Field(
            description="A row for each design: its parameters, and NAME_mean, NAME_sd, NAME_q5, NAME_q50, NAME_q95."
        ),
    ]
    units: Annotated[dict[str, str], Field(description="The units of the outcomes that have one.")]


class WorkAnswer(About):
    """A job, and once it is done, what came of it: trials that were asked, a verdict, or the answer to a question."""

    job: JobAnswer
    trials: list[TrialAnswer] | None = None
    verdict: VerdictAnswer | None = None
    worth: WorthAnswer | None = None
    what_if: WhatIfAnswer | None = None
    predict: PredictAnswer | None = None


class JobsAnswer(About):
    """The jobs of a study, the oldest first; those that ended long ago are forgotten."""

    jobs: list[JobAnswer]


class PictureAnswer(BaseModel):
    """A picture: what plotly draws, with a title and a sentence."""

    title: str | None = None
    caption: str | None = None
    observations: Annotated[int | None, Field(description="After how many values it was made.")] = None
    specification: Annotated[dict[str, Any] | None, Field(description="What plotly draws: data and layout.")] = None


class InformedPicture(PictureAnswer):
    """A picture with what it is made of."""

    information: Annotated[
        dict[str, Any] | None, Field(description="What the picture shows, as values: means, gains, probabilities, ...")
    ] = None


class OnePicture(About):
    """One picture of the latest look at a study."""

    picture: InformedPicture


class LookAnswer(About):
    """The latest look at a study: the verdict, the one before it, and the pictures; nulls before the first look."""

    observations: int | None
    revision: int | None
    complete: Annotated[bool, Field(description="Whether all pictures are ready.")]
    verdict: VerdictAnswer | None
    earlier: VerdictAnswer | None
    pictures: dict[str, PictureAnswer]
    troubles: Annotated[dict[str, str], Field(description="Why a picture is missing.")]


class CheckedAnswer(BaseModel):
    """What a study would do."""

    name: str
    first: Annotated[int, Field(description="How many first designs fill the space; attached data count.")]
    says: Annotated[list[str], Field(description="What it will do, in sentences.")]
    definition: dict[str, Any]
