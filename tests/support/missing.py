"""Programs that some tests need and that may not be there."""

import os
from typing import NoReturn

import pytest


def missing(why: str) -> NoReturn:
    """Skip a test for want of a program; in CI, where all of them have to be there, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)
