"""MCP: the studies of a store as tools for agents. `hentropy mcp` serves them over standard input and output.

What is computed is computed on a copy in memory, so that reading writes nothing. No tool creates a study, runs an
objective or imports a decision of one's own: no code of a study is ever run here.
"""

import math
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Annotated, Any, ParamSpec, TypeVar

from pydantic import Field, ValidationError

from hentropy._version import __version__
from hentropy.errors import Advice, HentropyError, InputError, StudyError, require
from hentropy.studies.records import Failed, State, StudyRecord, Values
from hentropy.studies.storage import Store
from hentropy.studies.study import Study
from hentropy.studies.study.study import resumed
from hentropy.views.plots.marks import Table
from hentropy.views.plots.pictures import PICTURES, picture
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_matplotlib import rendered
from hentropy.views.server import inquiries
from hentropy.views.server.api import answering
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.server.study_service import EarlierExperiment, StudyService
from hentropy.views.text.formats import iso
from hentropy.views.text.sentences import decision_sentence, outcome_sentences, stop_sentence
from hentropy.views.text.trials import as_json, history_json, verdict_json

require("mcp", "mcp")

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

One = float | str | list[float | None] | dict[str, float | str | None]
"""What JSON has for a measured value: a number or word, [value, standard error], or {"value": ..., "std_error": ...}"""

Told = One | dict[str, One | None]
"""A value where there is one outcome, or values by outcome: as answers have `measurements`."""

StudyName = Annotated[str, Field(description="The name of the study, as in list_studies.")]
Number = Annotated[int, Field(description="The number of the trial, as in the answers of ask and state.")]
Design = Annotated[
    dict[str, Any], Field(description='A design: a value for each parameter, such as {"x": 0.5, "solvent": "water"}.')
]
MEASURED = Field(
    description='What was measured: a number or word, [value, standard error], {"value": 0.5, "std_error": 0.1}, or'
    ' any of these by outcome, such as {"yield": 80.1}.'
)
Measured = Annotated[Told, MEASURED]
Note = Annotated[str, Field(description="A note that is kept with it.")]
Replace = Annotated[bool, Field(description="Overwrite an earlier result, which stays in the history.")]

INSTRUCTIONS = """Studies of expensive experiments. A study has designs that can be run, what was measured, and a
decision: what people will do in the end, with a loss. `verdict` says what would be decided now and its expected loss,
`worth` what one more experiment is expected to save, `why` why it is that one, and `what_if` what a result would
change; `predict` says what is expected of designs. Losses are minimised; a gain is the expected decrease of the loss,
in the same units. A design is called `params` and its results `measurements`, in answers and in arguments."""

IN_TOOLS = {
    Advice.CORRECT: "call tell with replace=true to correct it",
    Advice.TELL_FAILED: "if the experiment did not work, call fail",
    Advice.NAME_OUTCOMES: 'give values by outcome, such as {"yield": 80.1}',
    Advice.ASK_AND_TELL: "ask for an experiment, have it run, tell its value",
    Advice.TRUST: "people decide it with the command line",
    Advice.ATTACH_AGAIN: "if they are measurements of their own, attach them with again=true",
}
"""What an error advises, as an agent would do it."""

P = ParamSpec("P")
R = TypeVar("R")


def as_tool(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors an agent can read."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except HentropyError as error:
            page = [] if error.page is None else [error.page.seen]
            raise ToolError("\n".join([error.worded(IN_TOOLS), *page])) from error

    return called


class StudyTools:
    """The studies of a store, by name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._service = StudyService(store)
        self._lock = Lock()
        self._looked: tuple[Any, Scene] | None = None

    def list_studies(self) -> list[dict[str, Any]]:
        """List all studies: what is decided, how many trials there are, the last recorded verdict."""
        return [
            {
                "name": one.record.name,
                "decision": one.decided,
                "trials": dict(one.counts),
                "stopped": one.stopped,
                "last_activity": iso(one.last_activity),
                "last_verdict": None if one.verdict is None else verdict_json(one.verdict.verdict),
            }
            for one in self._service.studies()
        ]

    def state(
        self, study: StudyName, last: Annotated[int, Field(description="How many of the last trials to list.")] = 20
    ) -> dict[str, Any]:
        """Where a study stands: parameters, outcomes, budget, rules, running experiments and the last trials."""
        case = self._service.snapshot(self._record(study))
        left = case.trials_left
        return {
            "name": case.record.name,
            "decision": decision_sentence(case.description),
            "parameters": answering.design(case.space),
            "outcomes": answering.outcomes(case.outcomes),
            "measured": outcome_sentences(case.description),
            "budget": {"rules": stop_sentence(case.description), "trials_left": None if left == math.inf else left},
            "running": [as_json(entry) for entry in case.entries if entry.trial.state is State.RUNNING],
            "trials": len(case.entries),
            "last_trials": [as_json(entry) for entry in case.entries[max(0, len(case.entries) - last) :]],
            "predictions": case.predictions,
            "to_come": case.to_come,
            "spent": case.spent,
            "stopped": case.stopped,
            "notes": list(case.notes),
            "cannot_be_computed_here": case.computable,
        }

    def trial(self, study: StudyName, number: Number) -> dict[str, Any]:
        """One trial with all that was ever told of it."""
        return history_json(*self._service.history(self._record(study), number))

    def verdict(self, study: StudyName) -> dict[str, Any]:
        """Decide by all that was told so far: the action, its expected loss, and how exactly that is known."""
        with self._lock:
            return verdict_json(self._scene(study).study.decide())

    def worth(
        self,
        study: StudyName,
        price: Annotated[
            float | None, Field(description="What an experiment costs, in units of the loss; at least 0.")
        ] = None,
    ) -> dict[str, Any]:
        """Whether one more experiment is worth it: what it is expected to save, in units of the loss.

        With a price of an experiment in the same units, `worth_it` compares the two.
        """
        with self._lock:
            return inquiries.worth(self._scene(study), price)

    def why(self, study: StudyName) -> dict[str, Any]:
        """Why the next experiment is that one: what would be decided now, and after a low, middle or high outcome."""
        with self._lock:
            scene = self._scene(study)
            drawn = picture(scene, "why")
            now = verdict_json(scene.study.decide(worth=False))
        tables = [part for row in drawn.rows for part in row if isinstance(part, Table)]
        outcomes = [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]
        return {"sentence": drawn.caption, "now": now, "after_outcomes": outcomes}

    def what_if(self, study: StudyName, params: Design, measurements: Measured) -> dict[str, Any]:
        """What would be decided if a design measured these values; nothing is recorded."""
        with self._lock:
            now, then = self._scene(study).study, self._copy(self._computable(study))
            return inquiries.what_if(now, then, params, told(measurements))

    def predict(
        self,
        study: StudyName,
        designs: Annotated[list[dict[str, Any]], Field(description="Designs: a value for each parameter of each.")],
        noise: Annotated[
            bool, Field(description="Predict what experiments would show, with the noise of a measurement.")
        ] = False,
    ) -> dict[str, Any]:
        """What is expected of designs: mean, standard deviation and quantiles of each outcome."""
        with self._lock:
            return inquiries.predicted(self._scene(study).study, designs, noise)

    def picture(
        self,
        study: StudyName,
        what: Annotated[
            str, Field(description="known, decided, why, progress, worth, loss, predictions or trust.")
        ] = "decided",
    ) -> list[Any]:
        """A picture of a study with its caption."""
        if what not in PICTURES:
            raise InputError(f"there is no picture {what!r}; there are: {', '.join(PICTURES)}")
        with self._lock:
            drawn = picture(self._scene(study), what)
            return [f"{drawn.title}. {drawn.caption}", Image(data=rendered(drawn, ".png"), format="png")]

    def ask(
        self, study: StudyName, count: Annotated[int, Field(description="How many to run side by side.")] = 1
    ) -> dict[str, Any]:
        """Ask for the next experiments, to be run side by side by people or instruments; fewer if the rules say so."""
        stored = self._service.stored(self._computable(study).record)
        with self._lock:
            own = resumed(stored)
            asked = own.ask_within_rules(count)
            return {"trials": [trial.plain() for trial in asked], "stopped": own.stopped}

    def tell(
        self,
        study: StudyName,
        number: Number,
        measurements: Measured,
        note: Note = "",
        replace: Replace = False,
        cost: Annotated[float | None, Field(description="What the experiment cost, if that is known.")] = None,
    ) -> dict[str, Any]:
        """Record what a trial measured."""
        log = self._service.log(self._record(study))
        return as_json(log.tell(number, told(measurements), note=note or None, replace_value=replace, cost=cost))

    def fail(
        self,
        study: StudyName,
        number: Number,
        why: Annotated[str, Field(description="What went wrong.")],
        replace: Replace = False,
    ) -> dict[str, Any]:
        """Record that a trial was run and failed, and why."""
        return as_json(self._service.log(self._record(study)).fail(number, why, replace_value=replace))

    def withdraw(self, study: StudyName, number: Number, note: Note = "") -> dict[str, Any]:
        """Take back a trial that will not be run."""
        return as_json(self._service.log(self._record(study)).withdraw(number, note))

    def attach(
        self,
        study: StudyName,
        params: Design,
        measurements: Annotated[Told | None, MEASURED] = None,
        failed: Annotated[str, Field(description="Why it failed, in place of measurements.")] = "",
        again: Annotated[bool, Field(description="Attach it although the same is in the study already.")] = False,
    ) -> dict[str, Any]:
        """Add a measurement that was made before, or one that failed."""
        if (measurements is None) == (not failed):
            raise InputError("give exactly one of measurements and failed")
        outcome = Failed(failed) if measurements is None else told(measurements)
        added = self._service.attach(self._record(study), [EarlierExperiment(params, outcome)], again=again)
        return as_json(added.entries[0])

    def _record(self, study: str) -> StudyRecord:
        found = self._service.find(study)
        if found is None:
            known = ", ".join(repr(one.name) for one in self._store.studies()) or "none"
            raise StudyError(f"there is no study {study!r}; there are: {known}")
        return found

    def _computable(self, study: str) -> Snapshot:
        """A study that can be computed here."""
        case = self._service.snapshot(self._record(study))
        if case.computable:
            raise StudyError(case.computable)
        return case

    def _copy(self, case: Snapshot) -> Study:
        """A study in memory with the same options and trials."""
        return inquiries.copy_of(self._service.stored(case.record), case.trials)

    def _scene(self, study: str) -> Scene:
        """What is known of a study now; kept until something is told."""
        case = self._computable(study)
        key = (case.record, case.revision)
        if self._looked is None or self._looked[0] != key:
            self._looked = (key, scene_of(self._copy(case)))
        return self._looked[1]


def told(measurements: Told) -> Values:
    """Measurements as a study takes them."""
    if isinstance(measurements, dict) and set(measurements) != {"value", "std_error"}:
        return {name: None if one is None else _value(one) for name, one in measurements.items()}
    return _value(measurements)  # type: ignore[arg-type]


def _value(one: One) -> Any:
    if isinstance(one, dict):
        strange = [key for key in one if key not in ("value", "std_error")]
        if strange or "value" not in one:
            raise InputError(f'a measurement is {one!r}; give {{"value": 0.5, "std_error": 0.1}}, or a number')
        return one["value"] if one.get("std_error") is None else (one["value"], one["std_error"])
    return tuple(one) if isinstance(one, list) else one


class StudyServer(MCPServer):
    """A server that says in a sentence what is wrong with the arguments of a call."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool by name with arguments."""
        tool = self._tool_manager.get_tool(name)
        described = {} if tool is None else tool.parameters["properties"]
        strange = [key for key in arguments if key not in described]
        if tool is not None and strange:
            raise ToolError(f"{name} has no argument {strange[0]!r}; its arguments are {', '.join(described)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            first = error.__cause__.errors()[0]
            argument = str(first["loc"][0])
            said = "is missing" if first["type"] == "missing" else f"cannot be {arguments[argument]!r}"
            raise ToolError(f"{name}: {argument} {said}. {described[argument]['description']}") from error


def make_server(store: Store, write: bool = False) -> MCPServer:
    """The server of a store. Without `write`, it has no tool that changes anything."""
    tools = StudyTools(store)
    server = StudyServer("hentropy", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reading: list[Callable[..., Any]] = [
        tools.list_studies,
        tools.state,
        tools.trial,
        tools.verdict,
        tools.worth,
        tools.why,
        tools.what_if,
        tools.predict,
        tools.picture,
    ]
    adding: list[Callable[..., Any]] = [tools.ask, tools.attach]
    overwriting: list[Callable[..., Any]] = [tools.tell, tools.fail, tools.withdraw]
    for function in [*reading, *([*adding, *overwriting] if write else [])]:
        hints = ToolAnnotations(
            read_only_hint=function in reading, destructive_hint=function in overwriting, open_world_hint=False
        )
        plain = False if function == tools.picture else None
        server.add_tool(as_tool(function), annotations=hints, structured_output=plain)
    return server
