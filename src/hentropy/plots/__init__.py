"""Pictures: information (pure), then drawing. Needs the extra `plots`."""

from hentropy.plots.plane import PlaneInfo, draw_plane, plane_info

__all__ = ["PlaneInfo", "draw_plane", "plane_info"]
