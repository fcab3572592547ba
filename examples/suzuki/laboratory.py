"""A laboratory that one can ask: the yield of a Suzuki coupling in percent, by a formula made up for this example."""

import json
import math
import sys

LIGAND = {"PPh3": 38, "PCy3": 55, "P(o-tol)3": 46, "dppf": 62, "SPhos": 84, "XPhos": 88, "RuPhos": 80, "AmPhos": 76}
SOLVENT = {"THF": -4, "dioxane": 4, "toluene": 0, "DMF": -9, "ethanol": 3}
BEST_AT = {"PPh3": 95, "PCy3": 85, "P(o-tol)3": 90, "dppf": 92, "SPhos": 62, "XPhos": 72, "RuPhos": 66, "AmPhos": 74}


def reaction_yield(ligand: str, solvent: str, temperature: float, loading: float, time: float) -> float:
    """What the chromatogram would say, without its noise."""
    heat = math.exp(-(((temperature - BEST_AT[ligand]) / 26.0) ** 2))
    conversion = 1.0 - math.exp(-time * (0.3 + heat) * (0.4 + math.log2(1.0 + loading)) / 60.0)
    decay = 0.08 * max(0.0, temperature - 80.0) * time / 120.0
    return max(0.0, (LIGAND[ligand] + SOLVENT[solvent]) * (0.35 + 0.65 * heat) * conversion - decay)


def main() -> None:
    """A line `NUMBER YIELD` for each experiment that `hentropy ask --json` prints to standard input."""
    for trial in json.load(sys.stdin):
        print(trial["number"], round(reaction_yield(**trial["params"]), 2))


if __name__ == "__main__":
    main()
