"""The command line: one file per command. Needs the extra `cli`."""

from hentropy.errors import require

require("typer", "cli")
