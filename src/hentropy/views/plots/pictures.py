"""All pictures by name: the information of each, and the picture that is made of it."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np
from torch import Tensor

from hentropy.errors import InputError
from hentropy.studies.study import Study
from hentropy.views.plots.decided import decided_info, decided_picture
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.loss import loss_info, loss_picture
from hentropy.views.plots.marks import IN_WORDS, Heat, OutcomeTitle, Panel, Picture, Table
from hentropy.views.plots.predictions import record_info, record_picture
from hentropy.views.plots.progress import progress_info, progress_picture
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.trust import trust_info, trust_picture
from hentropy.views.plots.why import why_info, why_picture
from hentropy.views.plots.worth import worth_info, worth_picture

PICTURES: Mapping[str, tuple[Callable[[Scene], Any], Callable[[Any], Picture]]] = {
    "known": (known_info, known_picture),
    "decided": (decided_info, decided_picture),
    "why": (why_info, why_picture),
    "progress": (progress_info, progress_picture),
    "worth": (worth_info, worth_picture),
    "loss": (loss_info, loss_picture),
    "predictions": (record_info, record_picture),
    "trust": (trust_info, trust_picture),
}
"""What there is to see of a study, in the order in which it is best looked at."""


def information(what_of: Study | Scene, what: str) -> Any:
    """What a picture of a study shows, as a frozen dataclass; a `StudyError` while nothing has been told."""
    if what not in PICTURES:
        raise InputError(f"there is no picture {what!r}; available: {', '.join(PICTURES)}")
    scene = what_of if isinstance(what_of, Scene) else scene_of(what_of)
    return PICTURES[what][0](scene)


def picture(what_of: Study | Scene, what: str) -> Picture:
    """A picture of a study: what is "known", "decided", and so on; a `StudyError` while nothing has been told."""
    scene = what_of if isinstance(what_of, Scene) else scene_of(what_of)
    return pictured(scene, what, information(scene, what))


def pictured(scene: Scene, what: str, info: Any) -> Picture:
    """The picture of information, which names the outcome of the study and its unit."""
    made, outcomes, name = PICTURES[what][1](info), scene.study.outcomes, scene.outcome
    if name == "value":
        return made
    if event := outcomes.quantities[name].event:
        said = f" Values are probabilities of {event}; an experiment is shown at 1 if it was so, else at 0."
        return dataclasses.replace(_titled(made, scene.title), caption=made.caption + said)
    is_log, unit = outcomes.is_log(name), outcomes.units.get(name, "")
    values = "natural logarithms" if is_log else "those"
    said = f" Values are {values} of {name}{f', in {unit}' if unit else ''}."
    return dataclasses.replace(_titled(made, scene.title), caption=made.caption + said)


def _titled(made: Picture, title: str) -> Picture:
    """A picture whose titles that are about the outcome name it, with its unit."""

    def named(text: str) -> str:
        return text.named.format(title) if isinstance(text, OutcomeTitle) else text

    def of_panel(panel: Panel | Table) -> Panel | Table:
        if isinstance(panel, Table):
            return dataclasses.replace(panel, columns=tuple(map(named, panel.columns)))
        x, y = (dataclasses.replace(axis, title=named(axis.title)) for axis in (panel.x, panel.y))
        marks = tuple(
            dataclasses.replace(mark, label=named(mark.label)) if isinstance(mark, Heat) else mark
            for mark in panel.marks
        )
        return dataclasses.replace(panel, title=named(panel.title), x=x, y=y, marks=marks)

    return dataclasses.replace(made, rows=tuple(tuple(map(of_panel, row)) for row in made.rows))


def as_plain(info: Any) -> Any:
    """Information as values that JSON has: dataclasses become dicts, arrays lists; NaN and infinity become None."""
    if dataclasses.is_dataclass(info) and not isinstance(info, type):
        values = [field.name for field in dataclasses.fields(info) if field.metadata != IN_WORDS]
        return {name: as_plain(getattr(info, name)) for name in values}
    if isinstance(info, Mapping):
        return {str(key): as_plain(value) for key, value in info.items()}
    if isinstance(info, np.ndarray | Tensor | np.generic):
        return as_plain(info.tolist())
    if isinstance(info, list | tuple):
        return [as_plain(value) for value in info]
    if isinstance(info, Enum):
        return as_plain(info.value)
    if isinstance(info, float):
        return info if math.isfinite(info) else None
    return info if isinstance(info, str | int) or info is None else str(info)
