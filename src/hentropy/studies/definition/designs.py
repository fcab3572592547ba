"""The designs of a study in words: parameters or a pool, and where the decision may lie."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field, JsonValue, model_validator

from hentropy.core.spaces import Choice, DesignSpace, Fractions, Integer, Levels, Parameter, Pool, Real, Space
from hentropy.errors import InputError
from hentropy.studies.definition.base import Cells, Label, Number, Plain, Text, Unit, Whole, Words, YesNo

Log = Annotated[
    YesNo,
    Field(
        description="Whether equal ratios count as equal steps, as for rates and concentrations; low must then be"
        " above 0."
    ),
]
UnitWord = Annotated[Unit, Field(description='The unit, such as "mol/L"; it is shown with the name.')]


class OneParameter(Words):
    """A parameter in words: the options of its constructor."""

    kind: ClassVar[type[Parameter]]

    def build(self) -> Parameter:
        """The parameter itself."""
        return self.kind(**{option: value for option, value in self if option != "type"})

    @property
    def is_read(self) -> bool:
        """Whether all that it needs is here, and not in a file still to be read."""
        return True

    @model_validator(mode="after")
    def _can_be_built(self) -> "OneParameter":
        if self.is_read:
            self.build()
        return self


class RealWords(OneParameter):
    """A parameter that can have any value between two bounds, or any number of steps from the lower one."""

    model_config = ConfigDict(title="Real parameter")
    kind = Real

    type: Annotated[Literal["real"], Field(description="A real number.")]
    low: Annotated[Number, Field(description="The lower bound.")]
    high: Annotated[Number, Field(description="The upper bound.")]
    log: Log = False
    step: Annotated[
        Number | None, Field(description="The step between values that can be set. If left out: any number.")
    ] = None
    unit: UnitWord = ""


class IntegerWords(OneParameter):
    """A parameter that is a whole number from one bound to the other, both included."""

    model_config = ConfigDict(title="Integer parameter")
    kind = Integer

    type: Annotated[Literal["integer"], Field(description="A whole number.")]
    low: Annotated[Whole, Field(description="The lower bound.")]
    high: Annotated[Whole, Field(description="The upper bound.")]
    log: Log = False
    step: Annotated[Whole | None, Field(description="The step between values that can be set. If left out: 1.")] = None
    unit: UnitWord = ""


class ChoiceWords(OneParameter):
    """A parameter that is one of several options without an order, such as solvents."""

    model_config = ConfigDict(title="Choice")
    kind = Choice

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

    def build(self) -> Parameter:
        """The parameter itself, once its descriptors are here."""
        if not self.is_read:
            raise InputError(f"the descriptors in {self.descriptors} have not been read; read the study with `read`")
        return super().build()


class LevelsWords(OneParameter):
    """A parameter that is one of several values that have an order."""

    model_config = ConfigDict(title="Levels")
    kind = Levels

    type: Annotated[Literal["levels"], Field(description="One of several ordered values.")]
    values: Annotated[
        tuple[Plain, ...], Field(min_length=1, description="The values: numbers, or names from the least to the most.")
    ]
    log: Annotated[YesNo, Field(description="Whether numbers are as far apart as their ratios say.")] = False
    unit: UnitWord = ""


_Bounds = Number | tuple[Number, ...] | dict[Label, Number]


class FractionsWords(OneParameter):
    """A parameter that is the parts of a whole, such as a mixture; each part is a value of the design."""

    model_config = ConfigDict(title="Fractions")
    kind = Fractions

    type: Annotated[Literal["fractions"], Field(description="Parts of a whole.")]
    names: Annotated[tuple[Label, ...], Field(description="The names of the parts.")]
    total: Annotated[Number, Field(gt=0, description="What the parts add up to.")] = 1.0
    low: Annotated[
        _Bounds, Field(description="The least amount: one number for all parts, a list, or a table by part.")
    ] = 0.0
    high: Annotated[
        _Bounds | None, Field(description="The largest amount, given as low is. If left out: the total.")
    ] = None
    at_most: Annotated[Whole | None, Field(ge=1, description="How many parts may be above zero, at most.")] = None
    unit: UnitWord = ""


ParameterWords = Annotated[
    RealWords | IntegerWords | ChoiceWords | LevelsWords | FractionsWords, Field(discriminator="type")
]

PARAMETERS: dict[str, type[Words]] = {
    get_args(words.model_fields["type"].annotation)[0]: words for words in get_args(get_args(ParameterWords)[0])
}
"""The words of every kind of parameter, by its type."""


def parameter_words(parameter: Parameter) -> dict[str, Any]:
    """The words of a parameter."""
    return {"type": parameter.kind, **parameter.definition()}


class PoolWords(Words):
    """A list of the designs that can be run: in a CSV file, or row by row."""

    model_config = ConfigDict(title="Pool")

    file: Annotated[
        Label | None,
        Field(description="A CSV file with a header; its path is taken from the folder of the study file."),
    ] = None
    id: Annotated[Label | None, Field(description="The column by which you know the designs.", examples=["name"])] = (
        None
    )
    ignore: Annotated[
        tuple[Label, ...], Field(description="Columns that are shown but not modelled.", examples=[["comment"]])
    ] = ()
    choices: Annotated[
        tuple[Label, ...],
        Field(
            description="Columns of numbers that are options without an order, such as the number of a lot.",
            examples=[["lot"]],
        ),
    ] = ()
    levels: Annotated[
        dict[Label, tuple[Plain, ...]],
        Field(
            default_factory=dict,
            description="Columns whose values have an order: the values from the least on.",
            examples=[{"size": ["small", "large"]}],
        ),
    ]
    log: Annotated[
        tuple[Label, ...],
        Field(description="Columns of numbers of which equal ratios count as equal steps.", examples=[["rate"]]),
    ] = ()
    units: Annotated[
        dict[Label, Unit],
        Field(
            default_factory=dict,
            description="The units of columns, shown beside their names.",
            examples=[{"temperature": "°C"}],
        ),
    ]
    names: Annotated[tuple[Label, ...] | None, Field(description="The names of the columns, for rows.")] = None
    rows: Annotated[
        Cells | None, Field(description="The designs, each a list of numbers and texts in the order of names.")
    ] = None

    def build(self, same_in_batch: Sequence[str] = (), tables: Mapping[str, Mapping[Any, float]] | None = None) -> Pool:
        """The pool itself."""
        if self.rows is None:
            raise InputError(f"the designs in {self.file} have not been read; read the study file with `read`")
        options = {key: value for key, value in self if key != "file"}
        return Pool(**options, tables=tables, same_in_batch=same_in_batch)

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

    def build(self) -> DesignSpace | dict[str, Any]:
        """As `Study` takes it."""
        if self.values is not None:
            return dict(self.values)
        if self.pool is not None:
            return self.pool.build(tables=self.tables)
        parameters = {name: parameter.build() for name, parameter in (self.space or {}).items()}
        return Space(**parameters, where=self.where, tables=self.tables)
