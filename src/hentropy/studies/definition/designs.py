"""The designs of a study in words: parameters, or a pool; tables of designs and of descriptors in CSV files."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, JsonValue, model_validator

from hentropy.core.spaces import Choice, DesignSpace, Fractions, Integer, Levels, Parameter, Pool, Real, Space
from hentropy.core.spaces.parameters import nearest, written
from hentropy.errors import DocPage, InputError, explained_in
from hentropy.studies.definition.base import Cells, Label, Number, Plain, Text, Unit, Whole, Words, YesNo
from hentropy.studies.files import MOST_IN_TABLE, read_text
from hentropy.studies.records.csv_tables import CsvTable, csv_table, number_in
from hentropy.studies.records.numbers import counted, plain_number

_LOG = "Whether equal ratios count as equal steps, as for rates and concentrations; low must then be above 0."
_UNIT = 'The unit, such as "mol/L"; it is shown with the name.'


class OneParameter(Words):
    """A parameter in words."""

    @abstractmethod
    def made(self) -> Parameter:
        """The parameter itself."""

    @property
    def is_read(self) -> bool:
        """Whether all that it needs is here, and not in a file still to be read."""
        return True

    @model_validator(mode="after")
    def _can_be_made(self) -> "OneParameter":
        if self.is_read:
            self.made()
        return self


class RealWords(OneParameter):
    """A parameter that can have any value between two bounds, or any number of steps from the lower one."""

    model_config = ConfigDict(title="Real parameter")

    type: Annotated[Literal["real"], Field(description="A real number.")]
    low: Annotated[Number, Field(description="The lower bound.")]
    high: Annotated[Number, Field(description="The upper bound.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False
    step: Annotated[
        Number | None, Field(description="The step between values that can be set. If left out: any number.")
    ] = None
    unit: Annotated[Unit, Field(description=_UNIT)] = ""

    def made(self) -> Parameter:
        """The parameter itself."""
        return Real(self.low, self.high, self.log, self.step, self.unit)


class IntegerWords(OneParameter):
    """A parameter that is a whole number from one bound to the other, both included."""

    model_config = ConfigDict(title="Integer parameter")

    type: Annotated[Literal["integer"], Field(description="A whole number.")]
    low: Annotated[Whole, Field(description="The lower bound.")]
    high: Annotated[Whole, Field(description="The upper bound.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False
    step: Annotated[Whole | None, Field(description="The step between values that can be set. If left out: 1.")] = None
    unit: Annotated[Unit, Field(description=_UNIT)] = ""

    def made(self) -> Parameter:
        """The parameter itself."""
        return Integer(self.low, self.high, self.log, self.step, self.unit)


class ChoiceWords(OneParameter):
    """A parameter that is one of several options without an order, such as solvents."""

    model_config = ConfigDict(title="Choice")

    type: Annotated[Literal["choice"], Field(description="One of several unordered options.")]
    options: Annotated[
        tuple[Plain, ...], Field(min_length=1, description="The options: texts, numbers, or true and false.")
    ]
    descriptors: Annotated[
        Label | dict[Label, tuple[Number, ...]] | None,
        Field(
            description="Numbers that describe the options, such as boiling points: a CSV file whose first column has"
            " the options, or columns by name with a number for each option in their order."
        ),
    ] = None

    @property
    def is_read(self) -> bool:
        """Whether the descriptors are here."""
        return not isinstance(self.descriptors, str)

    def made(self) -> Parameter:
        """The parameter itself."""
        if not self.is_read:
            raise InputError(f"the descriptors in {self.descriptors} have not been read; read the study with `read`")
        return Choice(self.options, self.descriptors)


class LevelsWords(OneParameter):
    """A parameter that is one of several values that have an order."""

    model_config = ConfigDict(title="Levels")

    type: Annotated[Literal["levels"], Field(description="One of several ordered values.")]
    values: Annotated[
        tuple[Plain, ...], Field(min_length=1, description="The values: numbers, or names from the least to the most.")
    ]
    log: Annotated[YesNo, Field(description="Whether numbers are as far apart as their ratios say.")] = False
    unit: Annotated[Unit, Field(description=_UNIT)] = ""

    def made(self) -> Parameter:
        """The parameter itself."""
        return Levels(self.values, self.log, self.unit)


_Bounds = Number | tuple[Number, ...] | dict[Label, Number]


class FractionsWords(OneParameter):
    """A parameter that is the parts of a whole, such as a mixture; each part is a value of the design."""

    model_config = ConfigDict(title="Fractions")

    type: Annotated[Literal["fractions"], Field(description="Parts of a whole.")]
    names: Annotated[tuple[Label, ...], Field(description="The names of the parts.")]
    total: Annotated[Number, Field(gt=0, description="What the parts add up to.")] = 1.0
    low: Annotated[
        _Bounds, Field(description="The least amount: one number for all parts, a list, or a table by part.")
    ] = 0.0
    high: Annotated[
        _Bounds | None,
        Field(description="The largest amount, given as low is. If left out: the total."),
    ] = None
    at_most: Annotated[Whole | None, Field(ge=1, description="How many parts may be above zero, at most.")] = None
    unit: Annotated[Unit, Field(description=_UNIT)] = ""

    def made(self) -> Parameter:
        """The parameter itself."""
        return Fractions(self.names, self.total, self.low, self.high, self.at_most, self.unit)


ParameterWords = Annotated[
    RealWords | IntegerWords | ChoiceWords | LevelsWords | FractionsWords, Field(discriminator="type")
]

PARAMETERS: dict[str, type[Words]] = {
    get_args(words.model_fields["type"].annotation)[0]: words for words in get_args(get_args(ParameterWords)[0])
}
"""The words of every kind of parameter, by its type."""


def described(parameter: Parameter) -> dict[str, Any]:
    """The words of a parameter."""
    return {"type": parameter.kind, **parameter.definition()}


class PoolWords(Words):
    """A list of the designs that can be run: in a CSV file, or row by row."""

    model_config = ConfigDict(title="Pool")

    file: Annotated[
        Label | None,
        Field(description="A CSV file with a header; its path is taken from the folder of the study file."),
    ] = None
    id: Annotated[Label | None, Field(description="The column that identifies the designs.")] = None
    ignore: Annotated[tuple[Label, ...], Field(description="Columns that are shown but not modelled.")] = ()
    choices: Annotated[
        tuple[Label, ...],
        Field(description="Columns of numbers that are options without an order, such as the number of a lot."),
    ] = ()
    levels: Annotated[
        dict[Label, tuple[Plain, ...]],
        Field(default_factory=dict, description="Columns whose values have an order: the values from the least on."),
    ]
    log: Annotated[
        tuple[Label, ...], Field(description="Columns of numbers of which equal ratios count as equal steps.")
    ] = ()
    units: Annotated[
        dict[Label, Unit], Field(default_factory=dict, description="The units of columns, shown beside their names.")
    ]
    names: Annotated[tuple[Label, ...] | None, Field(description="The names of the columns, for rows.")] = None
    rows: Annotated[
        Cells | None, Field(description="The designs, each a list of numbers and texts in the order of names.")
    ] = None

    def made(self, same_in_batch: Sequence[str] = (), tables: Mapping[str, Mapping[Any, float]] | None = None) -> Pool:
        """The pool itself."""
        if self.rows is None:
            raise InputError(f"the designs in {self.file} have not been read; read the study file with `read`")
        return Pool(
            self.rows,
            self.names,
            id=self.id,
            ignore=self.ignore,
            choices=self.choices,
            levels=self.levels,
            log=self.log,
            units=self.units,
            tables=tables,
            same_in_batch=same_in_batch,
        )

    @model_validator(mode="before")
    @classmethod
    def _no_descriptors(cls, words: Any) -> Any:
        if isinstance(words, Mapping) and "descriptors" in words:
            raise InputError("descriptors: what describes the options of a pool are columns of numbers in its table")
        return words

    @model_validator(mode="after")
    def _fits_together(self) -> "PoolWords":
        if self.file is None and self.rows is None:
            raise InputError('give file = "designs.csv", or names and rows')
        if self.file is not None and (self.rows is not None or self.names is not None):
            raise InputError("give either a file, or names and rows, not both")
        return self

    @property
    def is_read(self) -> bool:
        """Whether the designs are here, and not in a file still to be read."""
        return self.rows is not None

    def read(self, folder: Path) -> dict[str, Any]:
        """These words with the designs of their file."""
        kept = {key: value for key, value in self if key not in ("file", "names", "rows")}
        if self.file is None:
            return {**kept, "names": self.names, "rows": self.rows}
        named = [name for name, values in self.levels.items() if any(isinstance(value, str) for value in values)]
        names, rows = designs_in(folder / self.file, self.id, self.ignore, (*self.choices, *named))
        return {**kept, "names": names, "rows": rows}


class DecideOnWords(Words):
    """Where the decision may lie, if not anywhere in the space: values that are fixed, another space, or a pool."""

    model_config = ConfigDict(title="Decide on")

    values: Annotated[
        dict[Label, JsonValue] | None, Field(description="Values that are fixed, such as fidelity = 1.0.")
    ] = None
    space: Annotated[
        dict[Label, ParameterWords] | None, Field(min_length=1, description="The same parameters, with other ranges.")
    ] = None
    where: Annotated[tuple[Label, ...], Field(description="Conditions on what may be decided, for a space.")] = ()
    tables: Annotated[
        dict[Label, dict[Text, Number]], Field(default_factory=dict, description="Numbers that conditions look up.")
    ]
    pool: Annotated[PoolWords | None, Field(description="A list of what may be decided.")] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "DecideOnWords":
        if sum(part is not None for part in (self.values, self.space, self.pool)) != 1:
            raise InputError("give values, a space, or a pool, one of them")
        return self

    @property
    def is_read(self) -> bool:
        """Whether all of it is here, and not in files still to be read."""
        return all(part.is_read for part in (*(self.space or {}).values(), *([] if self.pool is None else [self.pool])))

    def made(self) -> DesignSpace | dict[str, Any]:
        """As `Study` takes it."""
        if self.values is not None:
            return dict(self.values)
        if self.pool is not None:
            return self.pool.made(tables=self.tables)
        made = {name: parameter.made() for name, parameter in (self.space or {}).items()}
        return Space(**made, where=self.where, tables=self.tables)


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
