"""`search`: Algorithm 1 in one call."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from rich.console import Console

from hentropy.core.decisions import Decision
from hentropy.core.spaces import DesignSpace
from hentropy.errors import HentropyError, InputError, StudyError
from hentropy.studies.records import Failed, Values, Verdict
from hentropy.studies.study.running import check_run
from hentropy.studies.study.study import Study


class SearchResult(NamedTuple):
    """What a search came to: the verdict, and the study with all its trials."""

    verdict: Verdict
    study: Study


def search(
    f: Callable[..., Values],
    space: DesignSpace,
    decision: Decision,
    budget: int,
    *,
    data: Iterable[tuple[Mapping[str, Any], Values | Failed]] = (),
    callback: Callable[[Study], object] | None = None,
    progress: bool = True,
    console: Console | None = None,
    worth: bool = True,
    deterministic: bool = False,
    **options: Any,
) -> SearchResult:
    """Run `budget` experiments `f(**params)`, each chosen for the decision, and decide.

    f returns a number or (value, standard error), or a table of these by outcome; where it raises, the trial counts as
    failed and the search continues, until several in a row have failed: then f is probably broken, and the error shows
    the first of those failures.
    `data` are earlier measurements, as in `Study.attach_many`. `callback` is called with the study after each
    experiment; if it returns True or raises StopIteration, the search ends and decides.
    Ctrl-C ends the search and decides with the results so far. The verdict says what another experiment would be worth,
    which takes one more proposal, unless `worth` is False or the search was ended early. `deterministic` says that f
    returns the same value whenever it is called with the same design, as a simulation does: the same as `noise=0`.
    `options` are those of `Study`. An error that ends the search has the study, with all results, in its attribute
    `study`.
    """
    check_run(f, budget, deterministic)
    study = Study(space, decision, **(without_noise(options) if deterministic else options))
    study.outcomes.assays.check_by_hand("the function")
    try:
        study.attach_many(data)
        verdict = study.run(f, budget, callback=callback, progress=progress, console=console, worth=worth)
        return SearchResult(verdict, study)
    except HentropyError as error:
        error.study = study
        raise
    except (Exception, KeyboardInterrupt) as error:
        ended = StudyError(
            f"the search stopped with {type(error).__name__}: {error}; the results so far are in this error's `study`"
        )
        ended.study = study
        raise ended from error


def without_noise(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a study of a deterministic function; an `InputError` if they state a noise."""
    if options.get("noise"):
        raise InputError(f"deterministic=True means noise=0, but noise is {options['noise']!r}; leave one of them out")
    return {**options, "noise": 0.0}
