"""What pages say of a point under the pointer."""

from hentropy.views.plots.marks import Axis, Panel
from hentropy.views.plots.plotly_texts import shown
from hentropy.views.plots.plotly_ticks import digits, extent


def hover(
    panel: Panel, label: str, *, texts: bool = False, value: str = "", ends: tuple[float, float] = (0.0, 1.0)
) -> str:
    """What is said of a point; a value on a map lies between two ends."""
    lines = ["%{text}"] if texts else []
    lines += [_coordinate(panel, panel.x, "x"), _coordinate(panel, panel.y, "y")]
    if value:
        lines.append(f"{shown(value, 40)}: %{{z:{_format(*ends)}}}")
    return f"{'<br>'.join(lines)}<extra>{shown(label, 40)}</extra>"


def _coordinate(panel: Panel, axis: Axis, letter: str) -> str:
    form = "" if axis.names else f":{_format(*extent(panel, axis, letter))}"
    return f"{shown(axis.title, 40)}: %{{{letter}{form}}}"


def _format(low: float, high: float) -> str:
    """How numbers between two ends are written: with all digits that tell them apart, in full where they are whole."""
    count = digits(low, high)
    whole = len(f"{max(abs(low), abs(high)):.0f}")
    return f".{count}~g" if whole > 12 else f".{max(count, whole)}~g"
