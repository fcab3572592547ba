"""`hentropy schema`: the JSON Schema of study files, for editors."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hentropy.studies.definition import json_schema
from hentropy.views.cli.arguments import Force
from hentropy.views.cli.printing import note
from hentropy.views.cli.writing import write_new


def schema(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Print the JSON Schema of study files.

    Editors complete and check files with it.

    Example: hentropy schema --out hentropy.schema.json
    """
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text, force=force)
        note(f"written to {out}")
