"""The pages of docs/ as texts: the places that links may lead to."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names of the headings of a page, as the site makes them; what looks like one in code is none."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
