"""TOML as study files have it: underscores in a number stand between thousands, or the number is refused."""

import re
import tomllib
from typing import Any

_TOKEN = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|\#[^\n]*"""  # texts and comments
    r"""|(?P<word>[^\s=,\[\]{}"'\#]+)(?P<key>\s*=)?""",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*(\.[0-9_]+)?([eE][+-]?[0-9_]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(_[0-9]{3})+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


DEEPEST = 100
"""Parts of a dotted key."""

_PART = r"""(?>[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_DEEP = re.compile(rf"(?<![\w.-]){_PART}(?>[ \t]*\.[ \t]*{_PART}){{{DEEPEST},}}")


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text; a `ValueError` says what is wrong with it.

    TOML lets underscores stand anywhere between digits, so that 1_5, a slip for 1.5, would be 15. Only 1_000 is taken.
    """
    if deep := _DEEP.search(text):  # the time to read it grows with the square of its length
        line = text.count("\n", 0, deep.start()) + 1
        raise ValueError(f"line {line}: a key has more than {DEEPEST} parts")
    tables = tomllib.loads(text)
    for token in _TOKEN.finditer(text):
        word = token["word"]
        if word is None or "_" not in word or token["key"] or not _NUMBER.fullmatch(word):
            continue
        if not _THOUSANDS.fullmatch(word):
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"line {line}: {word} could be a slip; underscores stand between thousands only, as 1_000")
    return tables
