"""The directive `command-line`: every command with its arguments and options, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hentropy.views.cli.app import app as commands


class CommandLine(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """The sections, as the text of a page."""
        group = typer.main.get_command(commands)
        text = "\n".join(line for name, command in vars(group)["commands"].items() for line in _section(name, command))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _section(name: str, command: Any) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}\n"
    yield f"```text\nhentropy {name} {usage}\n```\n"
    for paragraph in (command.help or "").split("\n\n"):
        example = paragraph.partition("Example: ")[2]
        yield f"Example: `{example}`\n" if example else f"{_plain(paragraph)}\n"
    rows = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    yield "| argument or option | meaning |\n|---|---|"
    for names, meaning in rows:
        yield f"| `{_cell(' '.join(names.split()))}` | {_cell(_plain(meaning))} |"
    yield ""


def _plain(text: str) -> str:
    """A help text as a page shows it: one line, with nothing that Markdown would take for markup."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", r"\*")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
