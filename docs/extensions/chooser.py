"""The directive `chooser`: the questions of the page *Which decision?*, for static/chooser.js to show."""

import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.extensions.choices import looked_up


class Chooser(SphinxDirective):
    """A form with its data in the page, so that it works from a file as well."""

    def run(self) -> list[nodes.Node]:
        """The form; without JavaScript a sentence is shown in its place."""
        data = json.dumps(looked_up(), ensure_ascii=False).replace("</", "<\\/")
        text = (
            '<div id="chooser"><noscript>The questions need JavaScript; the table below does not.</noscript></div>'
            f'<script type="application/json" id="chooser-data">{data}</script>'
        )
        return [nodes.raw("", text, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("chooser", Chooser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
