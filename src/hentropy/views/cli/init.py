"""`hentropy init`: a study file to begin with."""

import shlex
import sys
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.definition import validated
from hentropy.studies.definition.building import outcomes_of
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.views.cli.arguments import Force, whole
from hentropy.views.cli.files import check_new, write_new
from hentropy.views.cli.objective_check import starter
from hentropy.views.cli.plan import FilePlan, completed, plain, read_options, read_values, text_of
from hentropy.views.cli.printing import say
from hentropy.views.cli.questions import confirmed, questioned
from hentropy.views.cli.typed import read_noise, read_outcomes, read_parameters, read_tables, with_noise
from hentropy.views.text.trials import values_to_tell


class Objectives(StrEnum):
    """Who runs the experiments."""

    MANUAL = "manual"
    PYTHON = "python"
    COMMAND = "command"


def _complete_decision(incomplete: str) -> list[str]:
    return [name for name in DECISIONS if name.startswith(incomplete)]


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study file to write.")] = Path("study.toml"),
    name: Annotated[str | None, typer.Option(help="The study's name. Default: that of the file.")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help='A parameter and its values: "t=20 to 120 °C in steps of 5", "n=1 to 8 whole", "rate=0.01 to 10 log",'
            ' "solvent=THF, water", "loading=0.5, 1, 2 mol%", "size=small < large", "mix=A + B + C = 100 %". May be'
            " given many times.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help='A condition that every design satisfies, such as "t + p <= 150". Can be repeated.',
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME=OPTION:NUMBER,...",
            help='Numbers by option that conditions and costs look up: "boils=THF:66,water:100". May be given many'
            " times.",
        ),
    ] = None,
    same_in_batch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A parameter that is the same in all experiments asked for together. Can be repeated.",
        ),
    ] = None,
    decide_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help='A value that the recommended design must have, such as "fidelity=1"; experiments may have others.'
            " Can be repeated.",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="COST",
            help='What an experiment costs: a number, an expression such as "2 + 0.1 * minutes", or "told" if each'
            " result comes with its cost.",
        ),
    ] = None,
    cost_unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help='The unit of the cost, such as "hours" or "€".')
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=UNIT",
            help='What experiments measure: "yield=%", "impurity=% log", or a name alone; with the values that it can'
            ' have and its noise: "yield=% 0 to 100 noise 0.5", and "heavy tails" where results may be grossly wrong.'
            " May be given many times; of several, the decision is about the first unless an option says otherwise.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="By how much the result differs when an experiment is repeated: a standard deviation, such as 0.5; 0:"
            " not at all. If left out: it is learned from the data.",
        ),
    ] = None,
    decision: Annotated[
        str | None, typer.Option(help="What will be decided.", autocompletion=_complete_decision)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the decision. Can be repeated."),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help='A limit on an outcome that recommended designs must meet, such as "impurity <= 3". Can be repeated.',
        ),
    ] = None,
    objective: Annotated[Objectives | None, typer.Option(help="Who runs the experiments.")] = None,
    function: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="The Python function that runs them.")
    ] = None,
    command: Annotated[str | None, typer.Option(metavar="PROGRAM", help="The program that runs them.")] = None,
    pool: Annotated[
        str | None,
        typer.Option(metavar="CSV", help="A CSV file that lists all candidate designs, instead of parameters."),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column of the pool that identifies the designs.")
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of the pool that is shown but not modelled. Can be repeated."),
    ] = None,
    choice: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of the pool whose numbers are options without an order. Can be repeated.",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(parser=whole(1), metavar="N", help="The maximum number of experiments. Default: 60.")
    ] = None,
    force: Force = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask no questions; use defaults for what is not given.")] = False,
) -> None:
    """Write a commented study file.

    On a terminal it asks for what the options leave open. If the function or program does not exist yet, it writes one
    to fill in.

    Example: hentropy init lab.toml --parameter "t=20 to 120 °C" --parameter "solvent=THF, water" --decision maximize
    """
    if file.suffix.lower() != ".toml":
        raise InputError(f"{file} does not end in .toml; init writes TOML")
    check_new(file, force=force)
    if parameter and pool:
        raise typer.BadParameter("give either parameters or a pool, not both", param_hint="--pool")
    if pool and where:
        raise typer.BadParameter("conditions go with parameters; leave rows out of the pool", param_hint="--where")
    if not pool and (id or ignore or choice):
        raise typer.BadParameter("--id, --ignore and --choice name columns of a pool", param_hint="--pool")
    if decision is not None and decision not in DECISIONS:
        raise typer.BadParameter(f"{decision!r} is none of {', '.join(DECISIONS)}", param_hint="--decision")
    if option and decision is None:
        raise typer.BadParameter("an option needs --decision", param_hint="--option")
    if cost_unit and cost is None:
        raise typer.BadParameter("a unit needs --cost", param_hint="--cost-unit")
    options = read_options(decision, option or [])
    if subject_to:
        if "subject_to" in options:
            raise typer.BadParameter("limits are given twice, also as an option", param_hint="--subject-to")
        options["subject_to"] = subject_to
    plan = FilePlan(
        name=name or file.stem,
        parameters=read_parameters(parameter or []),
        where=where,
        tables=read_tables(tables or []),
        same_in_batch=same_in_batch or (),
        pool=pool,
        id=id,
        ignore=ignore or (),
        choices=choice or (),
        decide_on=read_values(decide_on or [], "--decide-on"),
        cost=None if cost is None else plain(cost),
        cost_unit=cost_unit or "",
        outcomes=with_noise(read_outcomes(outcome or []), options, read_noise(noise)),
        decision=decision,
        options=options,
        objective=_objective(objective, function, command),
        function=function,
        command=shlex.split(command) if command else None,
        trials=trials,
    )
    ask = sys.stdin.isatty() and sys.stdout.isatty() and not yes and plan.is_open
    plan = completed(questioned(plan, file) if ask else plan)
    text = text_of(plan, file)
    if ask and not confirmed(validated(tomllib.loads(text), str(file))):
        say("Nothing was written.")
        raise typer.Exit(1)
    write_new(file, text, force=force)
    say(f"{file} is written.", "bold")
    values = values_to_tell(outcomes_of(validated(tomllib.loads(text), str(file))))
    _say_next(plan, file, starter(plan, file.parent), values)


def _objective(given: Objectives | None, function: str | None, command: str | None) -> str | None:
    """Who runs the experiments, which a function or a program says as well."""
    implied = {Objectives.PYTHON: function is not None, Objectives.COMMAND: command is not None}
    chosen = [*([given] if given else []), *(kind for kind, said in implied.items() if said)]
    if len(set(chosen)) > 1:
        raise typer.BadParameter("a function goes with python, a command with command", param_hint="--objective")
    return chosen[0].value if chosen else None


def _say_next(plan: FilePlan, file: Path, made: Path | None, values: str) -> None:
    if plan.examples:
        say("No parameters were given: x1 and x2 from 0 to 1 are examples. Change them in the file.")
    if made:
        say(f"{made} is also written: put your experiment there.")
    say("Next:")
    say(f"  hentropy check {file}      says what it will do")
    if plan.objective == "manual":
        say(f"  hentropy ask {file}        says what to run")
        say(f"  hentropy tell {file} 0 {values}")
    else:
        say(f"  hentropy run {file}")
    say(f"  hentropy decide {file}     at any time")
