"""What is said after something was done: by a word in the address, which can say nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

from hentropy.views.text.formats import counted

DONE = {
    "told": "The result of trial {number} is entered. The verdict will be renewed.",
    "failed": "Trial {number} is marked as failed.",
    "withdrawn": "Trial {number} is withdrawn. If it is run after all, enter its result on its own page.",
    "corrected": "Trial {number} is corrected. What was told before stays in its history.",
    "attached": "{rows} attached. The verdict will be renewed.",
    "asked": "The next experiments are being chosen; they appear below.",
    "looking": "The verdict is being renewed.",
    "cancelled": "Cancelled. Nothing that was entered is lost.",
    "over": "It had ended already.",
}


@dataclass(frozen=True)
class Message:
    """A sentence on top of a page: `done` or `mistake`."""

    kind: str
    text: str


def message_in(query: Mapping[str, str]) -> Message | None:
    """What the address of a page says was done."""
    sentence = DONE.get(query.get("said", ""))
    number = query.get("number", "0")
    if sentence is None or not (number.isascii() and number.isdigit() and len(number) < 9):
        return None
    return Message("done", sentence.format(number=int(number), rows=counted(int(number), "row")))
