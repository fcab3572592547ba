"""Problems made of data: the raster, the networks and how they are trained, tables of measurements."""

import csv
import math
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.interpolate import RegularGridInterpolator
from torch import Tensor

import hentropy as he
from experiments.problems import vaccination as training
from experiments.problems.vaccination import Setting, anchored, extremes, fitted, read_counties
from hentropy.bench.problems import (
    fullerenes_top_k,
    lab_table,
    night_light,
    photo_pce10_top_k,
    table,
    vaccination,
    vaccination_sequence,
)
from hentropy.bench.problems.base import grid
from hentropy.bench.problems.maps import PENNSYLVANIA, REGIONS, Network, pennsylvania_at_night, vaccination_network
from hentropy.bench.problems.measurements import LAYOUTS, measurements, read_columns

DATA = files("hentropy.bench.problems").joinpath("data")


def raw_raster() -> np.ndarray:
    with DATA.joinpath("night_lights_pennsylvania.npy").open("rb") as file:
        return np.load(file, allow_pickle=False)


def test_night_light_is_interpolated_between_pixel_centres() -> None:
    pixels = raw_raster().astype(np.float64)
    lon, lat = -80.75 + 0.1 * np.arange(64), 42.45 - 0.1 * np.arange(31)
    other = RegularGridInterpolator((lat[::-1], lon), pixels[::-1], method="linear")
    x = night_light().space.sample(300, 0)
    np.testing.assert_allclose(night_light()(x).numpy(), other(x.numpy()[:, ::-1]), atol=1e-9)
    assert night_light().at(lon=-75.15, lat=39.95) == pytest.approx(float(pixels[25, 56]), abs=1e-6)


def test_the_raster_is_flat_beyond_its_outermost_centres() -> None:
    raster = pennsylvania_at_night()
    corners = torch.tensor([[-99.0, 60.0], [-99.0, 0.0], [0.0, 60.0], [0.0, 0.0]], dtype=torch.float64)
    z = raster.pixels
    assert raster(corners).tolist() == [float(z[i, j]) for i, j in ((0, 0), (-1, 0), (0, -1), (-1, -1))]


def test_philadelphia_and_pittsburgh_are_brightest() -> None:
    problem = night_light()
    x = grid(problem.space, 400)
    values = problem(x)
    brightest = x[values.argmax()]
    assert brightest.tolist() == pytest.approx([-75.16, 39.95], abs=0.15)
    west = x[:, 0] < -78.0
    assert x[west][values[west].argmax()].tolist() == pytest.approx([-80.0, 40.44], abs=0.15)
    assert float(values.min()) >= 0.0
    assert float(values.max()) <= 1.0


def test_the_raster_has_a_gradient() -> None:
    x = torch.tensor([-77.03, 40.57], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pennsylvania_at_night(), x)


@pytest.mark.parametrize("region", sorted(REGIONS))
def test_the_network_is_what_its_file_says(region: str) -> None:
    with DATA.joinpath(f"vaccination_{region}.npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    problem = vaccination(region)
    x = problem.space.sample(40, 0)
    h = (x.numpy() - arrays["centre"]) / arrays["scale"]
    layers = sum(name.startswith("weight") for name in arrays)
    for i in range(layers):
        h = h @ arrays[f"weight_{i}"] + arrays[f"bias_{i}"]
        h = np.tanh(h) if i < layers - 1 else 1.0 / (1.0 + np.exp(-h))
    np.testing.assert_allclose(problem(x).numpy(), h[:, 0], rtol=1e-12)


@pytest.mark.parametrize("region", sorted(REGIONS))
def test_the_network_beats_simple_rules_on_counties_left_out(region: str) -> None:
    network, mean, nearest = vaccination_network(region).held_out
    assert network < 0.9 * min(mean, nearest)


@pytest.mark.parametrize("region", sorted(REGIONS))
def test_extremes_are_those_of_a_fine_grid(region: str) -> None:
    stored, scaled = vaccination_network(region), vaccination_sequence(region)
    values = stored.network(grid(scaled.space, 701))
    assert 0.0 < stored.least <= float(values.min()) < stored.least + 1e-3
    assert stored.greatest - 1e-3 < float(values.max()) <= stored.greatest < 1.0
    x = scaled.space.sample(20, 0)
    expected = (stored.network(x) - stored.least) / (stored.greatest - stored.least)
    torch.testing.assert_close(scaled(x), expected)


def test_shares_in_pennsylvania_are_plausible() -> None:
    share = vaccination("pennsylvania").at
    lehigh, bucks = share(lon=-75.59, lat=40.61), share(lon=-75.11, lat=40.34)
    potter, fulton = share(lon=-77.90, lat=41.74), share(lon=-78.11, lat=39.93)
    assert 0.54 < lehigh < 0.66
    assert 0.54 < bucks < 0.66
    assert 0.25 < potter < 0.45
    assert 0.25 < fulton < 0.45


def test_the_network_has_a_gradient() -> None:
    x = torch.tensor([[-77.0, 40.5], [-75.2, 40.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(vaccination_network("pennsylvania").network, x)


def test_a_network_goes_through_its_arrays_and_its_numbers() -> None:
    zero, one = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    network = Network.drawn(zero, one, (4, 3), seed=0)
    x = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for again in (Network.from_arrays(network.arrays()), network.with_numbers(network.numbers)):
        assert again(x).tolist() == network(x).tolist()
    assert network.hidden == (4, 3)
    assert repr(network) == "Network(hidden=(4, 3))"


def hill(lon: float, lat: float) -> float:
    """A share with one broad hill, between 30 and 70 per cent."""
    return 30.0 + 40.0 * math.exp(-(((lon + 77.5) / 2.0) ** 2) - ((lat - 41.0) / 1.0) ** 2)


def write_counties(path: Path, count: int = 120) -> Path:
    """Counties around a hill, with noise; every fifth is under-reported, and a few lie far away."""
    generator = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["county", "lat", "lon", "vaccination_pct", "completeness_pct"])
        for i in range(count):
            lon, lat = generator.uniform(-81.5, -73.7), generator.uniform(38.8, 43.2)
            share, complete = (2.0, 51.0) if i % 5 == 0 else (hill(lon, lat) + generator.normal(), 95.0)
            writer.writerow([f"county {i}", lat, lon, share, complete])
        for i in range(5):
            writer.writerow([f"far {i}", 30.0, -100.0, 99.0, 95.0])
    return path


SMALL = [Setting((8,), 1.0, 0.1), Setting((8,), 1.0, 300.0)]


def test_counties_are_read_where_they_count(tmp_path: Path) -> None:
    counties = read_counties(write_counties(tmp_path / "counties.csv"), PENNSYLVANIA)
    assert 80 <= len(counties.shares) <= 96  # neither those under-reported nor those far away
    assert float(counties.shares.min()) > 0.2
    assert float(counties.shares.max()) < 0.8
    low, high = PENNSYLVANIA.space.bounds
    inside = counties.places[counties.inside]
    assert bool(((inside >= low) & (inside <= high)).all())
    assert 20 < len(inside) < len(counties.shares)


def test_where_there_are_no_counties_the_mean_is_assumed() -> None:
    space = PENNSYLVANIA.space
    places, shares = (
        torch.tensor([[-77.0, 41.0], [-76.8, 41.2]], dtype=torch.float64),
        torch.tensor([0.4, 0.6]).double(),
    )
    anchored_places, anchored_shares = anchored(space, places, shares)
    assert anchored_places[:2].tolist() == places.tolist()
    far = anchored_places[2:]
    assert 0 < len(far) < 900
    assert float(torch.cdist(far, places).min()) > 1.5
    assert anchored_shares.tolist() == pytest.approx([0.4, 0.6] + [0.5] * len(far))
    everywhere = grid(space, 20)
    assert len(anchored(space, everywhere, torch.zeros(400).double())[0]) == 400


def test_training_finds_the_hill_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write_counties(tmp_path / "counties.csv"), tmp_path / "out.npz"
    training.main([str(data), "--region", "pennsylvania", "--out", str(out)], SMALL)
    said = capsys.readouterr().out
    with np.load(out, allow_pickle=False) as stored:
        network, held_out = Network.from_arrays(stored), stored["held_out"].tolist()
        setting = str(stored["setting"])
        least, greatest = stored["extremes"].tolist()
    assert setting == repr(SMALL[0])  # the other one is too stiff to follow anything
    assert held_out[0] < 2.0 < held_out[2] < held_out[1]
    assert f"network {held_out[0]:.2f}, mean {held_out[1]:.2f}, nearest county {held_out[2]:.2f}" in said
    x = PENNSYLVANIA.space.sample(50, 0)
    truth = torch.tensor([hill(lon, lat) / 100.0 for lon, lat in x.tolist()], dtype=torch.float64)
    assert float((network(x) - truth).square().mean().sqrt()) < 0.025
    assert (least, greatest) == pytest.approx((0.3, 0.7), abs=0.06)


def test_training_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    counties = read_counties(write_counties(tmp_path / "counties.csv"), PENNSYLVANIA)
    known = counties.places, counties.shares
    first, again, other = (fitted(SMALL[0], PENNSYLVANIA.space, seed, *known).numbers for seed in (0, 0, 1))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_counties_left_out_were_not_seen() -> None:
    """A rule that knows only what it was shown: it says the share of a county it has seen and 9 elsewhere."""
    places = torch.arange(20, dtype=torch.float64).reshape(10, 2)
    counties = training.Counties(places, torch.zeros(10, dtype=torch.float64), torch.ones(10).bool())

    def rule(known: Tensor, shares: Tensor) -> training.Map:
        return lambda x: torch.where((torch.cdist(x, known) == 0).any(-1), 0.0, 9.0).double()

    misses = training.cross_validated(rule, counties, seed=0)
    assert misses.left_out.tolist() == [9.0] * 10
    assert misses.known.tolist() == [0.0] * 40


def test_misses_are_in_the_order_of_the_counties() -> None:
    places = torch.rand(23, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shares = torch.rand(23, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    counties = training.Counties(places, shares, torch.ones(23).bool())
    misses = training.cross_validated(lambda known, _: lambda x: x[:, 0], counties, seed=3)
    assert misses.left_out.tolist() == (places[:, 0] - shares).tolist()


def test_the_nearest_county_knows_that_degrees_of_longitude_are_short() -> None:
    places = torch.tensor([[-77.0, 60.0], [-75.5, 60.9]], dtype=torch.float64)
    share = training.nearest(places, torch.tensor([0.1, 0.9], dtype=torch.float64))
    # 1.5 degrees of longitude at 60 degrees north are as long as 0.75 of latitude
    assert share(torch.tensor([[-75.5, 60.0]], dtype=torch.float64)).tolist() == [0.1]


def test_extremes_are_polished() -> None:
    space = he.Space(x=he.Real(0.0, 2.0), y=he.Real(0.0, 2.0))

    def bowl(x: Tensor) -> Tensor:
        return (x - 0.7031).square().sum(-1)

    least, greatest = extremes(bowl, space)
    assert least == pytest.approx(0.0, abs=1e-9)
    assert greatest == pytest.approx(2 * 1.2969**2, rel=1e-9)


def test_training_names_what_is_wrong_with_its_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training.main([str(tmp_path / "none.csv"), "--out", "x.npz"])
    assert "none.csv; expected a CSV file with the columns lon, lat, vaccination_pct" in capsys.readouterr().err
    (tmp_path / "few.csv").write_text("lon,lat,vaccination_pct,completeness_pct\n-77,41,50,90\n-77,41,50,20\n")
    with pytest.raises(he.InputError, match="has 1 counties with completeness_pct >= 80 in pennsylvania"):
        read_counties(tmp_path / "few.csv", PENNSYLVANIA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", r"has no column c; found a, b; expected a, c"),
        ("", r"has no column a, c; found an empty file"),
        ("a,c\n", r"has a header and no rows"),
        ("a,c\n1,2\n3,high\n", r"line 3 of .*t\.csv has 'high' in column c; expected a finite number"),
        ("a,c\n1,\n", r"line 2 of .*t\.csv has '' in column c"),
        ("a,c\n1\n", r"line 2 of .*t\.csv has None in column c"),
        ("a,c\nnan,1\n", r"has 'nan' in column a"),
    ],
)
def test_tables_name_what_is_wrong_with_them(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(he.InputError, match=said):
        read_columns(tmp_path / "t.csv", ("a", "c"))


def test_a_file_that_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,c\n\xff\xfe\x00,1\n")
    with pytest.raises(he.InputError, match=r"t\.csv is not a CSV file in UTF-8"):
        read_columns(tmp_path / "t.csv", ("a", "c"))
    with pytest.raises(he.InputError, match=r"no file .*none\.csv; expected a CSV file with the columns a, c"):
        read_columns(tmp_path / "none.csv", ("a", "c"))


def test_a_table_of_ones_own_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("heat,note,gain,time\n1,x,5.0,10\n2,y,7.0,10\n1,z,6.0,10\n2,w,1.0,20\n")
    problem = table(tmp_path / "t.csv", ["heat", "time"], "gain", he.Maximize(), name="oven", credit="me")
    assert problem.name == "oven"
    assert problem.credit == "me"
    assert problem.space.names == ("heat", "time")
    assert problem.at(heat=1, time=10) == 5.5  # measured twice
    x = torch.tensor([[[2.0, 20.0]], [[2.0, 10.0]]], dtype=torch.float64)
    assert problem(x).tolist() == [[1.0], [7.0]]
    assert problem.best is not None
    assert problem.best.loss == -7.0
    assert problem.best.action is not None
    assert problem.best.action.tolist() == [[2.0, 10.0]]
    with pytest.raises(he.InputError, match="not in the pool"):
        problem(torch.tensor([2.0, 15.0], dtype=torch.float64))
    least = table(tmp_path / "t.csv", ["heat", "time"], "gain", he.Minimize())
    assert least.best is not None
    assert least.best.loss == 1.0
    levels = table(tmp_path / "t.csv", ["heat", "time"], "gain", he.LevelSets(5.2))
    assert levels.best is not None
    assert levels.best.loss == pytest.approx(-(0.3 + 1.8))
    assert table(tmp_path / "t.csv", ["heat"], "gain", he.TopK(2)).best is None


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_known_tables_are_known_by_their_columns(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    columns = [layout.output, *layout.inputs]
    rows = [[f"option {i}" if column in layout.texts else str(i) for column in columns] for i in (1, 2)]
    (tmp_path / f"{name}.csv").write_text("\n".join(",".join(row) for row in [columns, *rows]))
    problem = lab_table(name, tmp_path)
    assert problem.name == name.replace("_", "-")
    assert problem.space.names == layout.inputs
    assert isinstance(problem.decision, he.Maximize if layout.largest else he.Minimize)
    assert problem.best is not None
    assert problem.best.loss == (-2.0 if layout.largest else 1.0)
    assert {name for name, p in problem.space.parameters.items() if isinstance(p, he.Choice)} == set(layout.texts)
    chosen = lab_table(name, tmp_path, he.KGuesses(2))
    assert isinstance(chosen.decision, he.KGuesses)


def test_unknown_and_missing_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match="no table 'crossed_barel'; did you mean 'crossed_barrel'"):
        lab_table("crossed_barel", tmp_path)
    expected = (
        r"no file .*direct_arylation\.csv; this table is not shipped: make it from emdgroup/baybe on GitHub, commit"
    )
    with pytest.raises(he.InputError, match=expected):
        lab_table("direct_arylation", tmp_path)


def test_the_document_says_where_tables_come_from() -> None:
    text = (Path(__file__).parents[1] / "docs" / "problems.md").read_text()
    for name, layout in LAYOUTS.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        repository, _, file = layout.source.partition(" on GitHub, ")
        assert all(part in row for part in (repository, *file.split(", "), *layout.inputs, layout.output))


def test_texts_of_a_table_are_choices(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("acid,heat,gain\ny,1,5.0\nx,2,7.0\ny,1,6.0\ny,2,1.0\n")
    problem = table(tmp_path / "t.csv", ["acid", "heat"], "gain", he.Maximize(), texts=["acid"])
    assert problem.at(acid="y", heat=1) == 5.5  # measured twice
    assert problem.at(acid="x", heat=2) == 7.0
    assert problem.best is not None
    assert problem.best.action is not None
    assert problem.space.decode(problem.best.action[0]) == {"acid": "x", "heat": 2.0}
    (tmp_path / "t.csv").write_text("acid,heat,gain\n ,1,5.0\n")
    with pytest.raises(he.InputError, match=r"line 2 of .*t\.csv has nothing in column acid"):
        table(tmp_path / "t.csv", ["acid", "heat"], "gain", he.Maximize(), texts=["acid"])


def test_fullerenes_are_the_measurements() -> None:
    problem = fullerenes_top_k()
    assert len(problem.space.points) == 216  # type: ignore[arg-type]
    # the second design was measured three times
    rows = list(csv.DictReader(DATA.joinpath("fullerenes.csv").read_text().splitlines()))
    key = ("3.0", "5.1", "150.0")
    names = ("reaction_time_min", "sultine_equiv", "temperature_C")
    same = [float(row["mole_fraction"]) for row in rows if tuple(row[name] for name in names) == key]
    assert len(same) == 3
    assert problem.at(reaction_time_min=3.0, sultine_equiv=5.1, temperature_C=150.0) == pytest.approx(sum(same) / 3)
    assert problem.at(reaction_time_min=14.2, sultine_equiv=4.2, temperature_C=100.0) == pytest.approx(0.953133)


def test_blends_are_the_measurements() -> None:
    problem = photo_pce10_top_k()
    points = problem.space.points
    assert points is not None
    assert len(points) == 1020
    torch.testing.assert_close(points.sum(-1), torch.ones(1020, dtype=torch.float64))
    assert problem.at(pce10=0.0, p3ht=0.1, pcbm=0.9, oidtbr=0.0) == pytest.approx(0.001623, abs=1e-6)
    assert isinstance(problem.decision, he.TopK)
    assert not problem.decision.largest


def test_all_rows_of_a_table_are_counted_once(tmp_path: Path) -> None:
    """Sums over designs and over measurements agree, whatever the order of the rows."""
    generator = np.random.default_rng(0)
    designs, values = generator.integers(0, 4, (60, 2)).tolist(), generator.normal(size=60).tolist()
    rows = [(a, b, value) for (a, b), value in zip(designs, values, strict=True)]
    (tmp_path / "t.csv").write_text("a,b,v\n" + "\n".join(f"{a},{b},{v!r}" for a, b, v in rows))
    found = measurements(tmp_path / "t.csv", ("a", "b"), "v")
    for design, value in zip(found.space.points.tolist(), found.values.tolist(), strict=True):
        assert value == pytest.approx(np.mean([v for a, b, v in rows if [a, b] == design]))
    assert len(found.values) == len({(a, b) for a, b, _ in rows})
