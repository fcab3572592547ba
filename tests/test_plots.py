"""Pictures: information first, checked by value; then drawing, checked by rendering."""

from pathlib import Path

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.beliefs import Needs
from hentropy.plots import PlaneInfo, draw_plane, plane_info
from support.studies import LINE, PLANE, begun


@pytest.fixture(scope="module")
def known() -> he.Study:
    return begun(PLANE, count=8)


def info_of(known: he.Study, grid: int = 11) -> PlaneInfo:
    return plane_info(known.belief, PLANE, known.decide().raw, first=3, grid=grid)


def test_information_is_that_of_the_study(known: he.Study) -> None:
    info = info_of(known)
    assert info.names == ("x", "rate")
    assert info.logarithmic == (False, True)
    assert info.axes[0] == pytest.approx(np.linspace(0.0, 5.0, 11))
    assert info.axes[1] == pytest.approx(np.logspace(-4, -1, 11))
    assert info.queries.tolist() == known.belief.X.tolist()
    assert info.chosen.tolist() == known.decide().raw.tolist()
    # row i, column j is the point (x_j, rate_i)
    point = torch.tensor([[info.axes[0][7], info.axes[1][2]]], dtype=torch.float64)
    assert info.mean[2, 7] == pytest.approx(float(known.belief.moments(point, Needs.MEAN).mean))


def test_a_mixture_is_averaged() -> None:
    mixed = begun(PLANE, count=6, hyperparameters="mixture")
    info = plane_info(mixed.belief, PLANE, mixed.decide().raw, first=3, grid=3)
    point = torch.tensor([[info.axes[0][1], info.axes[1][2]]], dtype=torch.float64)
    assert info.mean[2, 1] == pytest.approx(float(mixed.belief.moments(point, Needs.VARIANCE).total()[0]))


def test_a_pool_of_two_columns_is_a_plane() -> None:
    pool = he.Pool([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.5]], names=["a", "b"])
    made = he.Study(pool, he.Maximize(), hyperparameters="map")
    for i, row in enumerate(pool.points):
        made.attach(pool.decode(row), float(i))
    info = plane_info(made.belief, pool, made.decide().raw, first=0, grid=5)
    assert info.logarithmic == (False, False)
    assert info.chosen.tolist() == [[3.0, 1.5]]


@pytest.mark.parametrize("with_truth", [False, True])
def test_the_picture_is_drawn(with_truth: bool, known: he.Study, tmp_path: Path) -> None:
    info = info_of(known)
    path = draw_plane(info, tmp_path / "plane.png", "a study", info.mean + 1.0 if with_truth else None)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = (int.from_bytes(content[i : i + 4], "big") for i in (16, 20))
    assert width > (1.5 if with_truth else 0.9) * height


def test_a_flat_belief_is_drawn(known: he.Study, tmp_path: Path) -> None:
    info = info_of(known)
    flat = PlaneInfo(
        info.names, info.logarithmic, info.axes, np.zeros_like(info.mean), info.queries[:0], 0, info.chosen
    )
    assert draw_plane(flat, tmp_path / "flat.png", "nothing known").stat().st_size > 1000


def test_a_plane_needs_two_parameters() -> None:
    made = begun(LINE)
    with pytest.raises(he.InputError, match=r"2 parameters, this one has 1 \(x\)"):
        plane_info(made.belief, LINE, made.decide().raw, first=3)
    with pytest.raises(he.InputError, match="at least 2 points along each axis, got 1"):
        plane_info(made.belief, PLANE, made.decide().raw, first=3, grid=1)
