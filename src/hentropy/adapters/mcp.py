"""MCP: the studies of a store as tools for agents. `hentropy mcp` serves them over standard input and output.

What is computed is computed on a copy in memory, so that reading writes nothing. No tool creates a study, runs an
objective or imports a decision of one's own: no code of a study is ever run here.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from hentropy._version import __version__
from hentropy.errors import Advice, HentropyError, InputError, StudyError, require
from hentropy.studies.records import Failed, State, StudyRecord, Values
from hentropy.studies.storage import Store
from hentropy.studies.study import Study
from hentropy.studies.study.study import resumed
from hentropy.views.plots.marks import Table
from hentropy.views.plots.pictures import PICTURES, information, picture, pictured
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_matplotlib import rendered
from hentropy.views.plots.worth import WorthInfo
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.server.study_service import EarlierExperiment, StudyService
from hentropy.views.text.formats import iso
from hentropy.views.text.sentences import decision_sentence, outcome_sentences
from hentropy.views.text.trials import as_json, history_json, verdict_json

require("mcp", "mcp")

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

Told = float | str | list[float | None] | dict[str, float | str | list[float | None] | None]
"""What JSON has for values: a number or word, [value, standard error], or these by outcome."""

INSTRUCTIONS = """Studies of expensive experiments. A study has designs that can be run, what was measured, and a
decision: what people will do in the end, with a loss. `verdict` says what would be decided now and its expected loss,
`worth` what one more experiment is expected to save, `why` why it is that one, and `what_if` what a result would
change. Losses are minimised; a gain is the expected decrease of the loss, in the same units."""

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

    def state(self, study: str, last: int = 20) -> dict[str, Any]:
        """Where a study stands: parameters, outcomes, rules, running experiments and the last trials."""
        case = self._service.snapshot(self._record(study))
        return {
            "name": case.record.name,
            "decision": decision_sentence(case.description),
            "parameters": [
                {"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "options": list(f.options)}
                for f in case.space.fields
            ],
            "outcomes": {name: case.outcomes.units.get(name, "") for name in case.outcomes.measured},
            "measured": outcome_sentences(case.description),
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

    def trial(self, study: str, number: int) -> dict[str, Any]:
        """One trial with all that was ever told of it."""
        return history_json(*self._service.history(self._record(study), number))

    def verdict(self, study: str) -> dict[str, Any]:
        """Decide by all that was told so far: the action, its expected loss, and how exactly that is known."""
        with self._lock:
            return verdict_json(self._scene(study).study.decide())

    def worth(self, study: str, price: float | None = None) -> dict[str, Any]:
        """Whether one more experiment is worth it: what it is expected to save, in units of the loss.

        With a price of an experiment in the same units, `worth_it` compares the two.
        """
        with self._lock:
            scene = self._scene(study)
            info = information(scene, "worth")
            assert isinstance(info, WorthInfo)
            said = pictured(scene, "worth", info).caption
        target = info.target
        gain = None if target is None else target.gain
        return {
            "sentence": said,
            "next_experiment": None if target is None else target.words,
            "running_as_trial": None if target is None else target.number,
            "gain": gain,
            "gain_error": None if target is None else target.error,
            "stopped": info.stopped or info.stops,
            "price": price,
            "worth_it": None if price is None or gain is None else gain > price,
        }

    def why(self, study: str) -> dict[str, Any]:
        """Why the next experiment is that one, and what would be decided after a low, middle or high outcome."""
        with self._lock:
            drawn = picture(self._scene(study), "why")
        tables = [part for row in drawn.rows for part in row if isinstance(part, Table)]
        outcomes = [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]
        return {"sentence": drawn.caption, "after_outcomes": outcomes}

    def what_if(self, study: str, design: dict[str, Any], values: Told) -> dict[str, Any]:
        """What would be decided if a design measured these values; nothing is recorded."""
        with self._lock:
            now = self._scene(study).study
            then = self._copy(self._computable(study))
            then.attach(design, told(values))
            before, after = now.decide(worth=False), then.decide(worth=False)
        change = after.expected_loss - before.expected_loss
        return {"now": verdict_json(before), "then": verdict_json(after), "change_of_expected_loss": change}

    def picture(self, study: str, what: str = "decided") -> list[Any]:
        """A picture of a study with its caption: known, decided, why, progress, worth, loss, predictions or trust."""
        if what not in PICTURES:
            raise InputError(f"there is no picture {what!r}; there are: {', '.join(PICTURES)}")
        with self._lock:
            drawn = picture(self._scene(study), what)
            return [f"{drawn.title}. {drawn.caption}", Image(data=rendered(drawn, ".png"), format="png")]

    def ask(self, study: str, count: int = 1) -> dict[str, Any]:
        """Ask for the next experiments, to be run side by side by people or instruments; fewer if the rules say so."""
        stored = self._service.stored(self._computable(study).record)
        with self._lock:
            own = resumed(stored)
            asked = own.ask_within_rules(count)
            return {"trials": [trial.plain() for trial in asked], "stopped": own.stopped}

    def tell(
        self, study: str, number: int, values: Told, note: str = "", replace: bool = False, cost: float | None = None
    ) -> dict[str, Any]:
        """Record what a trial measured: a number, [value, standard error], or these by outcome."""
        log = self._service.log(self._record(study))
        return as_json(log.tell(number, told(values), note=note or None, replace_value=replace, cost=cost))

    def fail(self, study: str, number: int, why: str, replace: bool = False) -> dict[str, Any]:
        """Record that a trial was run and failed, and why."""
        return as_json(self._service.log(self._record(study)).fail(number, why, replace_value=replace))

    def withdraw(self, study: str, number: int, note: str = "") -> dict[str, Any]:
        """Take back a trial that will not be run."""
        return as_json(self._service.log(self._record(study)).withdraw(number, note))

    def attach(
        self, study: str, design: dict[str, Any], values: Told | None = None, failed: str = "", again: bool = False
    ) -> dict[str, Any]:
        """Add a measurement that was made before, or one that failed."""
        if (values is None) == (not failed):
            raise InputError("give exactly one of values and failed")
        outcome = Failed(failed) if values is None else told(values)
        added = self._service.attach(self._record(study), [EarlierExperiment(design, outcome)], again=again)
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
        words = self._service.stored(case.record).words
        return Study(**words.options(trusted=False), records=case.trials)

    def _scene(self, study: str) -> Scene:
        """What is known of a study now; kept until something is told."""
        case = self._computable(study)
        key = (case.record, case.revision)
        if self._looked is None or self._looked[0] != key:
            self._looked = (key, scene_of(self._copy(case)))
        return self._looked[1]


def told(values: Told) -> Values:
    """Values as a study takes them."""
    if isinstance(values, dict):
        return {name: None if one is None else _value(one) for name, one in values.items()}
    return _value(values)


def _value(one: float | str | list[float | None]) -> Any:
    return tuple(one) if isinstance(one, list) else one


def make_server(store: Store, write: bool = False) -> MCPServer:
    """The server of a store. Without `write`, it has no tool that changes anything."""
    tools = StudyTools(store)
    server = MCPServer("hentropy", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reading: list[Callable[..., Any]] = [
        tools.list_studies,
        tools.state,
        tools.trial,
        tools.verdict,
        tools.worth,
        tools.why,
        tools.what_if,
        tools.picture,
    ]
    writing: list[Callable[..., Any]] = [tools.ask, tools.tell, tools.fail, tools.withdraw, tools.attach]
    for function in [*reading, *(writing if write else [])]:
        hints = ToolAnnotations(read_only_hint=function in reading, destructive_hint=False, open_world_hint=False)
        plain = False if function == tools.picture else None
        server.add_tool(as_tool(function), annotations=hints, structured_output=plain)
    return server
