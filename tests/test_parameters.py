"""Every kind of parameter: into the unit cube and back, what can be run, and the words of a study file."""

from contextlib import closing
from pathlib import Path

import pytest
import torch

from hentropy import Maximize, Study, load_study
from hentropy.core import spaces
from hentropy.core.spaces import Integer, Parameter, Real, Space
from hentropy.core.spaces.parameters import Number
from hentropy.errors import InputError
from hentropy.studies.definition import read, space_of, template
from hentropy.studies.definition.designs import PARAMETERS
from support.words import written

KINDS: dict[str, Parameter] = {
    "real": Real(-3.0, -1.0),
    "real, logarithmic": Real(1e-4, 10.0, log=True),
    "integer": Integer(2, 7),
    "integer, logarithmic": Integer(1, 64, log=True),
}


def test_every_kind_that_a_file_can_name_has_a_row() -> None:
    assert {parameter.kind for parameter in KINDS.values()} == set(PARAMETERS)
    assert {type(parameter).__name__ for parameter in KINDS.values()} <= set(spaces.__all__)


@pytest.mark.parametrize("kind", KINDS)
def test_designs_go_into_the_unit_cube_and_back(kind: str) -> None:
    space = Space(x=KINDS[kind])
    u = torch.linspace(0.0, 1.0, 41, dtype=torch.float64).unsqueeze(-1)
    torch.testing.assert_close(space.to_unit(space.from_cube(u)), u, rtol=1e-9, atol=1e-9)
    run = space.project(space.from_cube(u))
    space.check(run)
    assert torch.equal(space.project(run), run)
    for row in run:
        assert torch.equal(space.encode(space.decode(row)), row)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_can_be_run_and_reach_both_ends(kind: str) -> None:
    parameter = KINDS[kind]
    space = Space(x=parameter)
    sample = space.sample(256, seed=3)
    space.check(sample)
    if isinstance(parameter, Number) and parameter.grid:
        assert (float(sample.min()), float(sample.max())) == (parameter.low, parameter.high)
        with pytest.raises(InputError, match=f"must be {parameter.must_be}"):
            space.check(torch.tensor([[parameter.low + 0.4 * parameter.grid]], dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_stores_have_words_for_it(kind: str, tmp_path: Path) -> None:
    parameter = KINDS[kind]
    text = template("lab", {"x": parameter}, "maximize")
    assert repr(space_of(read(written(tmp_path, text)))) == repr(Space(x=parameter))
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    Study(Space(x=parameter), Maximize(), storage=url, name="lab").close()
    with closing(load_study("lab", url)) as loaded:
        assert repr(loaded.space) == repr(Space(x=parameter))
