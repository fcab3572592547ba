"""Where designs stand in a list, against comparing all pairs; and which rows of a pool may still be asked."""

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.spaces import rows as rows_module
from hentropy.core.spaces.rows import RowIndex
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import State, Trial
from hentropy.studies.study.left_to_ask import open_rows
from support.studies import measured

LISTED = torch.tensor(
    [[0.0, 1.0], [2.0, -3.0], [0.0, 1.0], [1e-300, 1.0], [2.0, 3.0], [0.0, -1.0]], dtype=torch.float64
)
ASKED = torch.tensor([[-0.0, 1.0], [2.0, 3.0], [2.0, 3.0000000001], [9.0, 9.0], [0.0, -1.0]], dtype=torch.float64)


@pytest.mark.parametrize("collide", [False, True], ids=["hashes", "equal hashes"])
def test_rows_are_found_by_their_values(collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if collide:
        monkeypatch.setattr(rows_module, "_hashes", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    index = RowIndex(LISTED)
    assert index.find(ASKED).tolist() == [0, 4, -1, -1, 5]
    assert index.find(ASKED.reshape(5, 1, 2)).shape == (5, 1)
    pairs = (LISTED.unsqueeze(1) == ASKED).all(-1).any(-1)
    assert torch.equal(index.equal_to_any(ASKED), pairs)
    assert not bool(index.equal_to_any(ASKED[2:4]).any())


def test_many_random_rows_are_found() -> None:
    listed = torch.rand(5000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    where = torch.randperm(5000, generator=torch.Generator().manual_seed(1))
    assert torch.equal(RowIndex(listed).find(listed[where]), where)
    assert bool((RowIndex(listed).find(listed[where] + 1e-15) == -1).all())


def test_rows_that_may_be_asked() -> None:
    """Repeated rows leave together; rows that run come last; failed ones never come."""
    pool = he.Pool(LISTED, names=["a", "b"])

    def trial(row: int, state: State, value: float | None = None) -> Trial:
        told = {} if value is None else measured(value, 0.0)
        return Trial(row, pool.decode(LISTED[row]), state=state, measurements=told)

    def open_after(*trials: Trial) -> list[int]:
        rows = open_rows(Outcomes.of(None, pool), trials, lambda t: pool.encode(t.params))
        assert rows is not None
        return rows.tolist()

    assert open_after() == [0, 1, 2, 3, 4, 5]
    assert open_after(trial(0, State.FAILED), trial(4, State.RUNNING)) == [1, 3, 5]
    exact = [trial(row, State.COMPLETE, value=1.0) for row in (1, 3, 4, 5)]
    assert open_after(trial(0, State.RUNNING), *exact) == [0, 2]
    assert open_after(trial(0, State.FAILED), *exact) == []
