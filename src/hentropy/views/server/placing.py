"""When work may begin, whoever asks for it: a program or a page."""

from hentropy.errors import InputError, StudyError
from hentropy.studies.definition import stopping_of
from hentropy.studies.records import State
from hentropy.studies.stopping import Budget
from hentropy.views.server.cases import Case
from hentropy.views.server.services import Services
from hentropy.views.server.work import Job

NOTHING = "nothing has been told yet, so nothing is known: ask for an experiment, run it, and enter its value"


def place_ask(here: Services, case: Case, count: int, anyway: bool) -> Job:
    """A job that asks, if the study can be computed here and does not have enough."""
    if case.computable is not None:
        raise StudyError(case.computable)
    if count > here.settings.limits.count:
        raise InputError(f"{count} experiments are too many; ask for at most {here.settings.limits.count} at once")
    if case.enough is not None and not anyway:
        raise StudyError(f"no new experiment: {case.enough}; ask anyway to get one nonetheless")
    left = budget_left(case)
    if left is not None and count > left and not anyway:
        raise StudyError(f"{count} experiments are more than the budget leaves; ask for at most {left}")
    return here.workshop.ask(case.record, count, anyway)


def budget_left(case: Case) -> int | None:
    """How many experiments the budget leaves, with those that run counted; None without one."""
    budgets = [rule.trials for rule in stopping_of(case.description) if isinstance(rule, Budget)]
    begun = sum(entry.trial.state is not State.WITHDRAWN and entry.trial.origin != "attached" for entry in case.entries)
    return min(budgets) - begun if budgets else None


def place_look(here: Services, case: Case) -> Job:
    """A job that decides, if there is something to decide by."""
    if case.computable is not None:
        raise StudyError(case.computable)
    if not has_values(case):
        raise StudyError(NOTHING)
    return here.workshop.look(case.record)


def has_values(case: Case) -> bool:
    """Whether anything was measured."""
    return any(entry.trial.state is State.COMPLETE for entry in case.entries)
