"""Fixtures of all tests: places where a study can be kept."""

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from benchmarks.postgres import programs, server
from hypothesis import settings

from support.missing import missing

KINDS = {
    "sqlite": "sqlite_url",
    "postgresql": "postgres_url",
}
"""The databases that stores are tested with, each with the fixture that gives an empty one."""

settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")

# a shell lets what it starts in the background ignore Ctrl-C, and so would all that the tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server; without its programs the tests that need it are skipped, in CI they fail."""
    if programs() is None:
        missing("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    with server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database of its own."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgres_server.replace("/postgres", f"/{name}")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a store in an empty folder."""
    return f"sqlite:///{tmp_path / 'hentropy.db'}"


@pytest.fixture(params=KINDS)
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, once for each database."""
    return str(request.getfixturevalue(KINDS[request.param]))
