"""Pictures: information (pure), then marks, then drawing. Needs the extra `plots`."""

from hentropy.plots.marks import Picture
from hentropy.plots.pictures import PICTURES, as_plain, information, picture
from hentropy.plots.progress import progress_picture, replayed
from hentropy.plots.scene import Scene, scene_of
from hentropy.plots.with_matplotlib import draw
from hentropy.plots.with_plotly import specification

__all__ = [
    "PICTURES",
    "Picture",
    "Scene",
    "as_plain",
    "draw",
    "information",
    "picture",
    "progress_picture",
    "replayed",
    "scene_of",
    "specification",
]
