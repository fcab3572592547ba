"""What the report and the page share: plotly.js, the style sheet, how pictures are drawn, templates with escaping."""

from hentropy.errors import require

require("jinja2", "report")
