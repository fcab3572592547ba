"""Check built pages: `python -m docs.extensions.built_pages FOLDER`.

Every link to another page or to a place on one leads there, every image, script and style is in the folder, and nothing
is loaded from elsewhere.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches to show a page."""


class Page(HTMLParser):
    """The places of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names, links or loads."""
        given = {name: value for name, value in attrs if value}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in ("canonical", "license"):
            self.loads.append(given[LOADED[tag]])


def mistakes(folder: Path) -> list[str]:
    """A line for each link that leads nowhere and each thing that is loaded from elsewhere."""
    files = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        for kind, targets in (("links to", page.links), ("loads", page.loads)):
            found += [f"{path.name} {kind} {target}" for target in targets if not _is_there(path, target, kind, pages)]
    return found


def _is_there(path: Path, target: str, kind: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return parts.scheme == "data" or kind == "links to"
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file():
        return False
    return not parts.fragment or there not in pages or unquote(parts.fragment) in pages[there].places


if __name__ == "__main__":
    lost = mistakes(Path(sys.argv[1]))
    print("\n".join(lost) or "all links lead somewhere, and nothing is loaded from elsewhere")
    sys.exit(bool(lost))
