"""Pictures: information (pure), then marks, then drawing. Needs the extra `plots`."""

from hentropy.errors import require

require("matplotlib", "plots")

from hentropy.views.plots.marks import Picture
from hentropy.views.plots.pictures import PICTURES, as_plain, information, picture
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_plotly import specification

__all__ = [
    "PICTURES",
    "Picture",
    "Scene",
    "as_plain",
    "information",
    "picture",
    "scene_of",
    "specification",
]
