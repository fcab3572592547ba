"""Tables of real measurements as functions: a design is a row of the table, its value what was measured there."""

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Problem, best_labels, named
from hentropy.core.decisions import Decision, LevelSets, Maximize, Minimize
from hentropy.core.spaces import Pool
from hentropy.errors import InputError


def read_columns(path: str | os.PathLike[str], columns: Sequence[str]) -> Tensor:
    """The named columns of a CSV file with a header: rows x columns, float64."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}; expected a CSV file with the columns {', '.join(columns)}")
    try:
        with file.open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle)
            found = list(reader.fieldnames or ())
            missing = [name for name in columns if name not in found]
            if missing:
                raise InputError(
                    f"{file} has no column {', '.join(missing)}; found {', '.join(found) or 'an empty file'};"
                    f" expected {', '.join(columns)}"
                )
            rows = [[_number(row[name], name, reader.line_num, file) for name in columns] for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise InputError(f"{file} has a header and no rows; expected at least one")
    return torch.tensor(rows, dtype=torch.float64)


def _number(cell: str | None, column: str, line: int, file: Path) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"line {line} of {file} has {cell!r} in column {column}; expected a finite number: correct the cell or"
            " drop the row"
        )
    return value


@dataclass(frozen=True, eq=False)
class Measurements:
    """What was measured (m) at each design of a list (m x d)."""

    space: Pool
    values: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs of the list ... x d: ... ."""
        self.space.check(x)
        unit, rows = self.space.to_unit(x).reshape(-1, self.space.dim), self.space.to_unit(self.space.points.to(x))
        row = torch.cdist(unit, rows, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1)
        return self.values.to(x)[row].reshape(x.shape[:-1])

    def __repr__(self) -> str:
        return f"Measurements({len(self.values)} designs)"


def measurements(path: str | os.PathLike[str], inputs: Sequence[str], output: str) -> Measurements:
    """The table in a CSV file. A design that was measured several times counts once, with the mean of its values."""
    rows = read_columns(path, (*inputs, output))
    designs, which, counts = rows[:, :-1].unique(dim=0, return_inverse=True, return_counts=True)
    totals = torch.zeros(len(designs), dtype=torch.float64).index_add(0, which, rows[:, -1])
    return Measurements(Pool(designs, names=inputs), totals / counts)


def table(
    path: str | os.PathLike[str],
    inputs: Sequence[str],
    output: str,
    decision: Decision,
    name: str = "table",
    credit: str = "",
) -> Problem:
    """Any table of measurements on disk as a problem: a CSV file with a header, its designs and what was measured.

    The best decision is known for level sets and for a single design; other decisions have none.
    """
    function = measurements(path, inputs, output)
    return Problem(name, function, function.space, decision, _best(function, decision), credit)


def _best(function: Measurements, decision: Decision) -> Best | None:
    if isinstance(decision, LevelSets):
        return best_labels(function, function.space, decision)
    if isinstance(decision, Maximize | Minimize):
        sign = -1.0 if isinstance(decision, Maximize) else 1.0
        row = int((sign * function.values).argmin())
        return Best(sign * float(function.values[row]), "exact: all designs compared", function.space.points[[row]])
    return None


@dataclass(frozen=True)
class Layout:
    """The columns of a known table, and whether great or small values are wanted."""

    inputs: tuple[str, ...]
    output: str
    largest: bool
    credit: str


LAYOUTS = {
    "agnp": Layout(
        ("q_agno3_pct", "q_pva_pct", "q_tsc_pct", "q_seed_pct", "q_tot_ul_min"),
        "loss_mean",
        largest=False,
        credit="Mekki-Berrada et al., npj Comput. Mater. 2021",
    ),
    "crossed_barrel": Layout(
        ("n_struts", "theta_deg", "radius_mm", "thickness_mm"),
        "toughness_mean",
        largest=True,
        credit="Gongora et al., Sci. Adv. 2020",
    ),
    "oer_plate_4098": Layout(
        ("sn", "sb", "co", "ca", "ni", "mn"),
        "overpotential",
        largest=False,
        credit="data set oer_plate_4098 of Olympus",
    ),
}
"""Tables that are not shipped: agnp (silver nanoparticles), crossed_barrel (printed structures), oer_plate_4098."""


def lab_table(name: str, path: str | os.PathLike[str], decision: Decision | None = None) -> Problem:
    """A known table on disk; without a decision, its best design is looked for."""
    layout = named(name, LAYOUTS, "table")
    if decision is None:
        decision = Maximize() if layout.largest else Minimize()
    return table(path, layout.inputs, layout.output, decision, name.replace("_", "-"), layout.credit)
