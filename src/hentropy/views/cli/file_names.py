"""File names made of the names of studies."""

import re

LONGEST = 80


def file_name(name: str) -> str:
    """A name of a study as part of a file name: letters, digits, points and hyphens alone, in this folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST] or "study"
