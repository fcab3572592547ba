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


@dataclass(frozen=True)
class Cells:
    """Columns of a CSV file as text, and the line of each row."""

    file: Path
    columns: tuple[str, ...]
    rows: list[list[str | None]]
    lines: list[int]

    def numbers(self, column: str) -> list[float]:
        """A column of finite numbers; an `InputError` names the first cell that is none."""
        at = self.columns.index(column)
        both = zip(self.rows, self.lines, strict=True)
        return [_number(row[at], column, line, self.file) for row, line in both]

    def texts(self, column: str) -> list[str]:
        """A column of texts; an `InputError` names the first cell that is empty."""
        at = self.columns.index(column)
        for row, line in zip(self.rows, self.lines, strict=True):
            if not (row[at] or "").strip():
                raise InputError(f"line {line} of {self.file} has nothing in column {column}; expected a text")
        return [str(row[at]).strip() for row in self.rows]


def read_cells(path: str | os.PathLike[str], columns: Sequence[str]) -> Cells:
    """The named columns of a CSV file with a header."""
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
            numbered = [(reader.line_num, [row[name] for name in columns]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is not a CSV file in UTF-8: {error}") from None
    if not numbered:
        raise InputError(f"{file} has a header and no rows; expected at least one")
    return Cells(file, tuple(columns), [row for _, row in numbered], [line for line, _ in numbered])


def read_columns(path: str | os.PathLike[str], columns: Sequence[str]) -> Tensor:
    """The named columns of a CSV file with a header: rows x columns, float64."""
    cells = read_cells(path, columns)
    return torch.tensor([cells.numbers(name) for name in columns], dtype=torch.float64).T.contiguous()


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


def measurements(
    path: str | os.PathLike[str], inputs: Sequence[str], output: str, texts: Sequence[str] = ()
) -> Measurements:
    """The table in a CSV file; inputs among `texts` are choices, the others numbers.

    A design that was measured several times counts once, with the mean of its values.
    """
    cells = read_cells(path, (*inputs, output))
    columns = [cells.texts(name) if name in texts else cells.numbers(name) for name in inputs]
    found: dict[tuple[str | float, ...], list[float]] = {}
    for design, value in zip(zip(*columns, strict=True), cells.numbers(output), strict=True):
        found.setdefault(design, []).append(value)
    designs = sorted(found)
    means = torch.tensor([sum(found[design]) / len(found[design]) for design in designs], dtype=torch.float64)
    return Measurements(Pool(designs, names=inputs), means)


def table(
    path: str | os.PathLike[str],
    inputs: Sequence[str],
    output: str,
    decision: Decision,
    name: str = "table",
    credit: str = "",
    texts: Sequence[str] = (),
) -> Problem:
    """Any table of measurements on disk as a problem: a CSV file with a header, its designs and what was measured.

    Inputs among `texts` are choices. The best decision is known for level sets and for a single design; other decisions
    have none.
    """
    function = measurements(path, inputs, output, texts)
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
    """The columns of a known table, whether great or small values are wanted, and which inputs are texts.

    `source` is the public file that the table was made from.
    """

    inputs: tuple[str, ...]
    output: str
    largest: bool
    credit: str
    source: str
    texts: tuple[str, ...] = ()


PV_LAB = "PV-Lab/Benchmarking on GitHub, commit 7585c517, datasets/"
OLYMPUS = "aspuru-guzik-group/olympus on GitHub, commit 440b6b58, src/olympus/datasets/"
BAYBE = "emdgroup/baybe on GitHub, commit 02177ac0, benchmarks/data/"

LAYOUTS = {
    "agnp": Layout(
        ("q_agno3_pct", "q_pva_pct", "q_tsc_pct", "q_seed_pct", "q_tot_ul_min"),
        "loss_mean",
        largest=False,
        credit="Mekki-Berrada et al., npj Comput. Mater. 2021",
        source=f"{PV_LAB}AgNP_dataset.csv",
    ),
    "crossed_barrel": Layout(
        ("n_struts", "theta_deg", "radius_mm", "thickness_mm"),
        "toughness_mean",
        largest=True,
        credit="Gongora et al., Sci. Adv. 2020",
        source=f"{PV_LAB}Crossed barrel_dataset.csv",
    ),
    "direct_arylation": Layout(
        ("base", "ligand", "solvent", "concentration_M", "temperature_C"),
        "yield_pct",
        largest=True,
        credit="Shields et al., Nature 2021",
        source=f"{BAYBE}direct_arylation/data.csv",
        texts=("base", "ligand", "solvent"),
    ),
    "oer_plate_4098": Layout(
        ("sn", "sb", "co", "ca", "ni", "mn"),
        "overpotential",
        largest=False,
        credit="data set oer_plate_4098 of Olympus",
        source=f"{OLYMPUS}dataset_oer_plate_4098/data.csv",
    ),
    "suzuki_edbo": Layout(
        ("electrophile", "nucleophile", "base", "ligand", "solvent"),
        "yield",
        largest=True,
        credit="Perera et al., Science 2018",
        source=f"{OLYMPUS}dataset_suzuki_edbo/data.csv",
        texts=("electrophile", "nucleophile", "base", "ligand", "solvent"),
    ),
}
"""Tables that are not shipped: they are read from a folder of the user."""


def lab_table(name: str, folder: str | os.PathLike[str], decision: Decision | None = None) -> Problem:
    """A known table, the file NAME.csv of a folder; without a decision, its best design is looked for."""
    layout = named(name, LAYOUTS, "table")
    path = Path(folder) / f"{name}.csv"
    if not path.is_file():
        raise InputError(
            f"there is no file {path}; this table is not shipped: make it from {layout.source}, with the columns"
            f" {', '.join((*layout.inputs, layout.output))}"
        )
    if decision is None:
        decision = Maximize() if layout.largest else Minimize()
    return table(
        path, layout.inputs, layout.output, decision, name.replace("_", "-"), layout.credit, texts=layout.texts
    )
