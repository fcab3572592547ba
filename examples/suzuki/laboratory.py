"""A simulated laboratory: yield and impurity of a Suzuki coupling in percent, by made-up formulas."""

import csv
import json
import math
import sys
from typing import Any

LIGAND = {"PPh3": 38, "PCy3": 55, "P(o-tol)3": 46, "dppf": 62, "SPhos": 84, "XPhos": 88, "RuPhos": 80, "AmPhos": 76}
SOLVENT = {"THF": -4, "dioxane": 4, "toluene": 0, "DMF": -9, "ethanol": 3}
BEST_AT = {"PPh3": 95, "PCy3": 85, "P(o-tol)3": 90, "dppf": 92, "SPhos": 62, "XPhos": 72, "RuPhos": 66, "AmPhos": 74}
TIGHT_UP_TO = 66.0  # C; above it the seal of a plate leaks

COLUMNS = ("number", "yield", "impurity", "status", "note")


def leaks(temperature: float) -> bool:
    """Whether a plate is lost, because its seal leaks."""
    return temperature > TIGHT_UP_TO


def chromatogram(ligand: str, solvent: str, temperature: float, loading: float, time: float) -> dict[str, float]:
    """The noiseless result of the chromatogram."""
    heat = math.exp(-(((temperature - BEST_AT[ligand]) / 26.0) ** 2))
    conversion = 1.0 - math.exp(-time * (0.3 + heat) * (0.4 + math.log2(1.0 + loading)) / 60.0)
    # more catalyst and longer heating couple the product once more
    impurity = 0.5 * (1.0 + loading) ** 0.8 * math.exp((temperature - 60.0) / 30.0) * (0.4 + time / 60.0)
    return {
        "yield": (LIGAND[ligand] + SOLVENT[solvent]) * (0.35 + 0.65 * heat) * conversion,
        "impurity": impurity,
    }


def result(number: int, params: dict[str, Any]) -> dict[str, Any]:
    """A row of the table of results."""
    if leaks(params["temperature"]):
        return {"number": number, "status": "failed", "note": "the seal leaked"}
    measured = chromatogram(**params)
    return {"number": number, **{name: round(value, 2) for name, value in measured.items()}}


def main() -> None:
    """A table of results for the experiments that `hentropy ask --json` prints to standard input."""
    table = csv.DictWriter(sys.stdout, COLUMNS, restval="")
    table.writeheader()
    table.writerows(result(trial["number"], trial["params"]) for trial in json.load(sys.stdin))


if __name__ == "__main__":
    main()
