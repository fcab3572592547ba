"""Links from pages to files of the repository lead to the pages of the site that show those files.

Pages are read in two places: in the repository, where `../CONTRIBUTING.md` is a file, and on the site, where that file
is included in a page. They are written for the repository; here the links are turned for the site.
"""

import posixpath
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the tests turn links where Sphinx is not installed
    from sphinx.application import Sphinx

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "experiments/README.md": "results/experiments.md",
    "src/hentropy/bench/problems/data/NOTICE.md": "results/data.md",
    **{f"examples/{name}/README.md": f"examples/{name}.md" for name in ("command", "own_decision", "suzuki", "team")},
    "examples/wet_lab/README.md": "examples/wet_lab.md",
}
"""Files of the repository, and the pages of the site that show them."""

INCLUDED = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def turned(text: str, folder: str, page: str) -> str:
    """A text of the repository's `folder` with its links as `page` needs them, both from the root of the repository."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        shown = f"docs/{PAGES[target]}" if target in PAGES else target
        return posixpath.relpath(shown, posixpath.dirname(page))

    return LINK.sub(link, text)


def read(app: "Sphinx", name: str, source: list[str]) -> None:
    """Put included files of the repository in place, and turn all links."""
    page = f"docs/{name}.md"

    def included(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))
        app.env.note_dependency(app.srcdir.parent / path)
        text = (app.srcdir.parent / path).read_text(encoding="utf-8")
        return turned(text, posixpath.dirname(path), page)

    text = turned(source[0], posixpath.dirname(page), page)
    source[0] = INCLUDED.sub(included, text)


def setup(app: "Sphinx") -> dict[str, Any]:
    """Turn links when a page is read."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
