"""Trials as a pandas DataFrame."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from hentropy.errors import MissingExtra
from hentropy.studies.records import Trial

if TYPE_CHECKING:
    import pandas

NUMBERS = ("value", "std_error", "gain", "gain_error", "entropy")


def titles_of(names: Iterable[str], others: Collection[str]) -> dict[str, str]:
    """The columns of parameters: "param_value" for a parameter that is called as another column, "value"."""
    return {name: f"param_{name}" if _bare(name) in others else name for name in names}


def _bare(name: str) -> str:
    # also "param_value" gets a prefix: else it would be taken for "value"
    while name.startswith("param_"):
        name = name.removeprefix("param_")
    return name


def trials_table(trials: Sequence[Trial], names: Sequence[str]) -> "pandas.DataFrame":
    """One row per trial: number, parameters `names`, state, value, and what was expected when it was asked.

    A parameter that has the name of another column, such as "value", gets the column "param_value".
    """
    try:
        import pandas  # noqa: PLC0415 (optional)
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    others = [field.name for field in fields(Trial) if field.name not in ("number", "params")]
    titles = titles_of(names, ("number", *others)).values()
    rows = [[t.number, *(t.params[name] for name in names), *(getattr(t, name) for name in others)] for t in trials]
    table = pandas.DataFrame(rows, columns=["number", *titles, *others])
    table["state"] = [trial.state.value for trial in trials]
    return table.astype(dict.fromkeys(NUMBERS, float))
