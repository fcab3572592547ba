"""Pictures as plotly's own figures, for notebooks."""

from hentropy.errors import MissingExtra
from hentropy.views.plots.marks import Picture
from hentropy.views.plots.plotly_texts import shown
from hentropy.views.plots.with_plotly import specification

try:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]
except ImportError:
    raise MissingExtra("plotly", "plots") from None


def figure(picture: Picture) -> Figure:
    """The picture as a figure of plotly, with its title."""
    made = Figure(specification(picture))
    height, top = made.layout.height or 200, 40
    made.update_layout(title={"text": shown(picture.title), "y": 1, "yanchor": "top", "pad": {"t": 12}})
    made.update_layout(margin_t=(made.layout.margin.t or 0) + top, height=height + top, template="plotly_white")
    return made
