"""Verdicts for a person, and as plain values for a script."""

from hentropy.studies.definition import Description
from hentropy.studies.records import Verdict
from hentropy.views.cli.printing import console, say
from hentropy.views.text.formats import counted
from hentropy.views.text.sentences import decided_sentence


def print_verdict(verdict: Verdict, called: str, description: Description) -> None:
    """A verdict as a table, and where to find the rows that it leaves out."""
    say(f"{decided_sentence(description)}, {verdict.stands_on}:", "bold")
    console().print(verdict.rows)
    if verdict.left_out:
        say(f"... and {counted(verdict.left_out, 'more row')}; hentropy decide {called} --json has all of them")
    for line in verdict.summary:
        say(line)
