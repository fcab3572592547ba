"""Questions about a study that record nothing: is another experiment worth it, what would a result change.

They are answered on a copy of the study in memory, with plain values, alike for agents and for the API.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hentropy.core.given import is_finite
from hentropy.core.spaces import Params
from hentropy.errors import InputError
from hentropy.studies.records import Trial, Values
from hentropy.studies.study import Study
from hentropy.studies.study.stored import StoredStudy
from hentropy.views.plots.pictures import information, pictured
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.worth import WorthInfo
from hentropy.views.text.trials import verdict_json


def copy_of(stored: StoredStudy, trials: Sequence[Trial]) -> Study:
    """A stored study with these trials, in memory; no code that it names is run."""
    return Study(**stored.words.options(trusted=False), records=trials)


def worth(scene: Scene, price: float | None = None) -> dict[str, Any]:
    """What one more experiment is expected to save; with a price in units of the loss, whether it is worth that."""
    if price is not None and not (is_finite(price) and price >= 0):
        raise InputError(f"the price of an experiment is {price:g}; it must be a finite number of at least 0")
    info = information(scene, "worth")
    assert isinstance(info, WorthInfo)
    target = info.target
    gain = None if target is None else target.gain
    return {
        "sentence": pictured(scene, "worth", info).caption,
        "next_experiment": None if target is None else target.words,
        "running_as_trial": None if target is None else target.number,
        "gain": gain,
        "gain_error": None if target is None else target.error,
        "stopped": info.stopped or info.stops,
        "price": price,
        "worth_it": None if price is None or gain is None else gain > price,
    }


def what_if(now: Study, then: Study, params: Params, values: Values) -> dict[str, Any]:
    """What would be decided if a design measured these values; `now` and `then` are two copies of the study."""
    then.attach(params, values)
    before, after = now.decide(worth=False), then.decide(worth=False)
    change = after.expected_loss - before.expected_loss
    return {"now": verdict_json(before), "then": verdict_json(after), "change_of_expected_loss": change}


def predicted(study: Study, designs: Sequence[Mapping[str, Any]], noise: bool = False) -> dict[str, Any]:
    """What is expected of designs: for each of them the columns of `Study.predict`."""
    return {"predictions": study.predict(designs, noise=noise).to_dict("records"), "units": study.outcomes.units}


def answer(stored: StoredStudy, trials: Sequence[Trial], question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a question in plain values: its name `what`, and what it has to know."""
    study = copy_of(stored, trials)
    if question["what"] == "worth":
        return worth(scene_of(study), question["price"])
    if question["what"] == "what_if":
        return what_if(study, copy_of(stored, trials), question["params"], question["values"])
    return predicted(study, question["designs"], question["noise"])
