"""BayBE with its defaults, one experiment at a time: a script for an interpreter that has BayBE, and not hentropy.

Lines of JSON come in and go out. The first says what can be varied, and which rows there are if not all combinations:

    {"seed": 0, "rows": null, "parameters": [{"name": "solvent", "options": ["DMAc", "BuOAc"]},
                                             {"name": "temperature", "values": [90, 105, 120]},
                                             {"name": "loading", "low": 0.5, "high": 2.5}]}

It is answered with {"baybe": VERSION}. Each later line brings new measurements, a design and its value each, and is
answered with the next design and the seconds that it took:

    {"measured": [[["DMAc", 90, 1.2], 41.5]]}   ->   {"design": ["BuOAc", 105, 0.8], "seconds": 0.31}

Options are categories in one-hot encoding, values discrete numbers, bounds continuous numbers. The value is maximised.
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

import baybe
import pandas as pd
from baybe import Campaign
from baybe.parameters import CategoricalParameter, NumericalContinuousParameter, NumericalDiscreteParameter
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget

VALUE = "value to maximise"
"""The name of BayBE's target: no parameter is called that."""


def parameter(words: dict[str, Any]) -> Any:
    """BayBE's parameter."""
    if "options" in words:
        return CategoricalParameter(words["name"], words["options"])
    if "values" in words:
        return NumericalDiscreteParameter(words["name"], words["values"])
    return NumericalContinuousParameter(words["name"], (words["low"], words["high"]))


def campaign(definition: dict[str, Any], names: list[str]) -> Campaign:
    """A campaign with BayBE's own recommender."""
    parameters = [parameter(words) for words in definition["parameters"]]
    if definition["rows"] is None:
        space = SearchSpace.from_product(parameters)
    else:
        space = SearchSpace.from_dataframe(pd.DataFrame(definition["rows"], columns=names), parameters)
    return Campaign(space, NumericalTarget(VALUE).to_objective())


def answers(lines: TextIO) -> Iterator[dict[str, Any]]:
    """One answer per line."""
    definition = json.loads(next(lines))
    names = [words["name"] for words in definition["parameters"]]
    baybe.Settings(random_seed=definition["seed"]).activate()
    under_way = campaign(definition, names)
    yield {"baybe": baybe.__version__}
    for line in lines:
        measured = [[*design, value] for design, value in json.loads(line)["measured"]]
        start = time.perf_counter()
        under_way.add_measurements(pd.DataFrame(measured, columns=[*names, VALUE]))
        found = under_way.recommend(1)
        seconds = time.perf_counter() - start
        yield {"design": found[names].astype(object).iloc[0].tolist(), "seconds": seconds}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for answer in answers(sys.stdin):
        print(json.dumps(answer), flush=True)
