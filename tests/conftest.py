"""Fixtures of all tests: places where a study can be kept, a server, and somebody who visits it."""

import gc
import signal
import uuid
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from benchmarks import postgres
from hypothesis import settings

from hentropy.views.server.settings import Settings
from support.missing import missing
from support.serving import Served, served
from support.tiers import cover
from support.visiting import browser

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected and imported stays to the end: the garbage collector need not walk through it each time.

    Nor need it look for rings after every 700 objects: tests make many, and few of them in rings.
    """
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()
    return found


def pytest_collectstart() -> None:
    """BayBE asks the garbage collector for a full round after each of its classes: let it be one over what is new."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of tables marked `covering`, cases beyond a cover are `nightly`; tests marked `slow` begin first.

    At the end, the rest keeps all workers busy together.
    """
    tables = defaultdict[tuple[str, tuple[int, ...]], dict[tuple[int, ...], pytest.Item]](dict)
    for item in items:
        mark = item.get_closest_marker("covering")
        if mark is not None and isinstance(item, pytest.Function) and item.get_closest_marker("nightly") is None:
            tables[item.nodeid.partition("[")[0], mark.args][tuple(map(id, item.callspec.params.values()))] = item
    for (_, together), cases in tables.items():
        for case in cases.keys() - set(cover(cases, *together)):
            cases[case].add_marker("nightly")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server; without its programs the tests that need it are skipped, in CI they fail."""
    if postgres.programs() is None:
        missing("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    with postgres.server() as url:
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the module's own, with an empty store."""
    with served(Settings(f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}")) as it:
        yield it


@pytest.fixture
def visit(server: Served) -> Iterator[httpx.Client]:
    """Somebody with a browser: cookies are kept, redirects followed."""
    with browser(server) as client:
        client.follow_redirects = True
        yield client
