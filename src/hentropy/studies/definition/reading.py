"""Reading study files, and the CSV files that they name. TOML, YAML and JSON say the same.

Numbers are plain decimal numbers in all of them. In TOML, underscores between digits are taken only between thousands.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from hentropy.core.spaces.parameters import nearest, written
from hentropy.errors import DocPage, InputError, explained_in
from hentropy.studies.definition.designs import (
    ChoiceWords,
    OneParameter,
    ParameterWords,
    PoolWords,
    parameter_words,
)
from hentropy.studies.definition.importing import Place, dotted
from hentropy.studies.definition.mistakes import told, validated
from hentropy.studies.definition.schema import Description
from hentropy.studies.files import MOST_IN_STUDY, MOST_IN_TABLE, read_text
from hentropy.studies.records.csv_tables import CsvTable, csv_table, number_in
from hentropy.studies.records.numbers import counted, plain_number


def read(path: str | Path) -> Description:
    """The study in a file, with the designs of a pool's own file; an `InputError` names every mistake."""
    file = Path(path)
    words = _words(file)
    decision = words.get("decision")
    if "own" in words or (isinstance(decision, Mapping) and "own" in decision and "python" not in decision):
        raise InputError(told(str(file), ["own: it stands for parts made in Python; a file cannot give it"]))
    try:
        whole = _read(words, file)
        if isinstance(part := whole.get("decide_on"), Mapping):
            whole["decide_on"] = _read(part, file, "decide_on")
    except InputError:  # of a file of designs: mistakes in this file come first
        validated(words, str(file))
        raise
    return validated(whole, str(file))


def _read(words: Mapping[str, Any], file: Path, *under: str) -> dict[str, Any]:
    """A part of a file with what stands in files of their own, and parameters as a store has them.

    What has mistakes stays as it is.
    """
    found = dict(words)
    with suppress(ValidationError):
        if "pool" in words:
            found["pool"] = _pool(PoolWords.model_validate(words["pool"]), file.parent)
    if isinstance(space := words.get("space"), Mapping):
        found["space"] = {name: _canonical(one, file, (*under, "space", name)) for name, one in space.items()}
    return found


def _pool(words: PoolWords, folder: Path) -> dict[str, Any]:
    """A pool with the designs of its file."""
    whole = dict(words)
    if (file := whole.pop("file")) is not None:
        named = [name for name, values in words.levels.items() if any(isinstance(value, str) for value in values)]
        table = designs_in(folder / file, words.id, words.ignore, (*words.choices, *named))
        whole["names"], whole["rows"] = table
    return whole


def _canonical(given: Any, file: Path, path: Place) -> Any:
    """A parameter as a store has it, with the descriptors of its file: the same space has the same words."""
    try:
        words = _PARAMETER.validate_python(given)
    except ValidationError:
        return given
    try:
        if isinstance(words, ChoiceWords) and isinstance(words.descriptors, str):
            table = descriptors_in(file.parent / words.descriptors, words.options)
            words = words.model_copy(update={"descriptors": table})
        return parameter_words(words.build())
    except InputError as error:
        raise InputError(told(str(file), [f"{dotted((*path, 'descriptors'))}: {error}"])) from None


_PARAMETER: TypeAdapter[OneParameter] = TypeAdapter(ParameterWords)


def _words(file: Path) -> dict[str, Any]:
    """The tables of a file, not checked yet."""
    if file.suffix.lower() not in _FORMATS:
        known = ", ".join(_FORMATS)
        ending = f"the ending {file.suffix!r}" if file.suffix else "no ending"
        raise InputError(f"{file} has {ending}; a study file ends in one of {known}")
    if not file.exists():
        raise InputError(f"there is no file {file}; `hentropy init` writes one")
    text = read_text(file, MOST_IN_STUDY)
    kind, parse = _FORMATS[file.suffix.lower()]
    try:
        words = parse(text)
    except RecursionError:
        raise InputError(f"{file} is not valid {kind}: it is nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f"{file} is not valid {kind}: {error}") from None
    if not isinstance(words, dict):
        what = "is empty" if words is None else f"holds a {type(words).__name__}"
        raise InputError(f"{file} {what}; a study file is a table of keys such as name, space and decision")
    return words


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {json.dumps(key)} appears twice in one table")
        found[key] = value
    return found


_MERGE = "tag:yaml.org,2002:merge"
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")


MOST_REPEATED = 10_000
"""Values that aliases of a YAML file may repeat."""


class _Loader(yaml.SafeLoader):
    """Plain YAML in which a key stands once, is a text, and numbers are decimal numbers, 1e-3 among them.

    In YAML 1.1, 010 is 8, 1:30 is 90 and 1_5 is 15: here they are texts, which are refused where numbers are wanted.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 (as in the class that it replaces)
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INT, _FLOAT)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = self._repeated = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A part of the file; what aliases repeat is counted, since a few lines of them can stand for millions."""
        before, line = self._values, self.peek_event().start_mark.line + 1
        is_alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if is_alias:
            if id(node) not in self._sizes:
                raise ValueError(f"line {line}: an alias stands within what it repeats; write the values out")
            self._repeated += self._sizes[id(node)]
            if self._repeated > MOST_REPEATED:
                raise ValueError(f"line {line}: aliases repeat more than {MOST_REPEATED} values; write them out")
        self._values += self._sizes[id(node)] if is_alias else 1
        self._sizes[id(node)] = self._values - before
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise ValueError(f"line {line}: the key {key!r} is not text; put it in quotes")
            if key in seen:
                raise ValueError(f"line {line}: the key {json.dumps(key)} appears twice in one table")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    """A number by its tag, also where the tag is written out."""
    text = loader.construct_scalar(node)
    if not _DECIMAL.match(text):
        raise ValueError(f"line {node.start_mark.line + 1}: {text!r} is not a plain decimal number")
    return int(text) if node.tag == _INT else float(text)


for _tag, _pattern in ((_INT, _WHOLE), (_FLOAT, _DECIMAL)):
    _Loader.add_implicit_resolver(_tag, _pattern, list("-+.0123456789"))
    _Loader.add_constructor(_tag, _number)


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except (AttributeError, KeyError, TypeError) as error:  # by values that do not fit a tag such as !!bool
        raise ValueError(f"a value does not fit the tag before it ({error})") from None


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


_FORMATS: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".toml": ("TOML", read_toml),
    ".yaml": ("YAML", _yaml),
    ".yml": ("YAML", _yaml),
    ".json": ("JSON", _json),
}

ENDINGS = tuple(_FORMATS)
"""How the names of study files end."""


def designs_in(
    file: Path, id: str | None = None, ignore: Sequence[str] = (), choices: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Names and rows of a CSV file with a header; a column is of numbers where every cell is one, else of texts.

    Ids are texts, whatever they look like, and so are `choices` not written as numbers are, such as 007; where a column
    in `ignore` has nothing, the value is None.
    """
    return designs_from(read_text(file, MOST_IN_TABLE), str(file), id, ignore, choices)


@explained_in(DocPage.CANDIDATES)
def designs_from(
    text: str, where: str, id: str | None = None, ignore: Sequence[str] = (), choices: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The same of a text; `where` is how messages call it."""
    table = _table(text, where, "a line with the names of the parameters and at least one design")
    for name in (*([] if id is None else [id]), *ignore, *choices):  # before cells that are wrong for its sake
        if name not in table.columns:
            raise InputError(f"{where} has no column {name!r}; {nearest(name, table.columns, what='columns')}")
    columns = list(zip(*(cells for _, cells in table.rows), strict=True))
    lines = [line for line, _ in table.rows]
    values: list[Sequence[Any]] = []
    for name, column in zip(table.columns, columns, strict=True):
        texts = [cell.strip() for cell in column]
        if name == id:
            values.append(texts)
        elif name in ignore:
            numbers = _numbers([text for text in texts if text])
            left = iter(texts if numbers is None else numbers)
            values.append([(text if numbers is None else next(left)) if text else None for text in texts])
        elif name in choices and all(texts):
            numbers = _numbers(texts)
            values.append(texts if numbers is None or [written(number) for number in numbers] != texts else numbers)
        else:
            numbers = _numbers(texts)
            values.append(_choices(where, lines, name, texts) if numbers is None else numbers)
    return table.columns, list(zip(*values, strict=True))


def _table(text: str, where: str, needs: str) -> CsvTable:
    """A CSV text with a header and as many cells in each row."""
    table = csv_table(text, where)
    if not table.rows:
        raise InputError(f"{where} needs {needs}")
    for line, row in table.rows:
        if len(row) != len(table.columns):
            names = ", ".join(table.columns)
            raise InputError(
                f"{where}, line {line}: {len(row)} values for {counted(len(table.columns), 'column')} ({names})"
            )
    return table


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """The numbers that texts are, if all of them are."""
    try:
        return [plain_number(text) for text in texts]
    except ValueError:
        return None


def _choices(where: str, lines: Sequence[int], name: str, texts: list[str]) -> list[str]:
    """The texts of a column; one in which most cells are numbers has a slip, and an option is never empty."""
    wrong = [i for i, text in enumerate(texts) if _numbers([text]) is None]
    empty = [i for i in wrong if not texts[i]]
    if empty or 2 * len(wrong) <= len(texts):
        at = (empty or wrong)[0]
        must = "a text or a number" if 2 * len(wrong) > len(texts) else "a number, as the others are"
        raise InputError(
            f"{where}, line {lines[at]}: {name} is {texts[at]!r}; it must be {must}: correct it, or keep the column out"
            f" of the model with ignore = [{name!r}]"
        )
    return texts


def descriptors_in(file: Path, options: Sequence[Any]) -> dict[str, list[float]]:
    """The columns of a CSV file whose first column has the options, in the order of these options."""
    table = _table(
        read_text(file, MOST_IN_TABLE), str(file), "a line with the names of its columns and a row for each option"
    )
    if len(table.columns) < 2:
        raise InputError(f"{file} needs a column of options and at least one column of numbers")
    rows = {row[0].strip(): (line, row) for line, row in table.rows}
    found: dict[str, list[float]] = {name: [] for name in table.columns[1:]}
    keys = [written(option) for option in options]
    missing = [key for key in keys if key not in rows]
    if missing:
        several = "s" if len(missing) > 1 else ""
        free = [key for key in rows if key not in keys]  # a row of another option is not misspelt
        said = f"; {nearest(missing[0], free, what='other rows')}" if free else ""
        raise InputError(f"{file} has no row for the option{several} {', '.join(missing)}{said}")
    for key in keys:
        line, row = rows[key]
        for name, cell in zip(table.columns[1:], row[1:], strict=True):
            try:
                found[name].append(number_in(name, cell))
            except InputError as error:
                raise InputError(f"{file}, line {line}: {error}") from None
    return found
