"""Commands that are imported when they are called: to list them all takes no more than their docstrings."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand


@dataclass(frozen=True)
class ListedCommand:
    """A command by the module and the name of its function."""

    module: str
    function: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """The docstring, read from the source, with each paragraph on one line: the terminal breaks lines itself."""
        spec = find_spec(self.module)
        assert spec is not None
        assert spec.origin is not None
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        own = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == self.function)
        paragraphs = (ast.get_docstring(own) or "").split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    def load(self) -> Callable[..., None]:
        """The function itself."""
        found: Callable[..., None] = getattr(import_module(self.module), self.function)
        return found


class LazyCommand(TyperCommand):
    """A name and a help text, which is read when it is shown; the command itself is made when it is called."""

    def __init__(self, name: str, command: ListedCommand) -> None:
        super().__init__(name, rich_markup_mode="rich")
        self._command = command

    @property
    def help(self) -> str:
        """The docstring of the command."""
        return self._command.help

    @help.setter
    def help(self, text: str | None) -> None:
        """Typer sets it for every command: here there is nothing to be kept."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        settings = dict(self._command.settings)
        alone.command(name=self.name, help=self.help, context_settings=settings or None)(self._command.load())
        return typer.main.get_command(alone).make_context(info_name, args, parent=parent, **extra)
