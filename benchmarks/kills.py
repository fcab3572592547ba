"""Processes that are killed at random moments: `python -m benchmarks.kills --count 1000`.

Every verb of a study is repeated by a process that notes down what has returned; it is killed (SIGKILL) while the store
is made or opened, in the middle of the verb, or between two. Then the store is opened again: all that was noted down
must be there, once, and no experiment may count as failed that did not fail. The tests run the same with few kills.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import psycopg

from benchmarks.postgres import server
from benchmarks.verbs import VERBS, Verb, kept, kill, noted, repeat, sound, started
from hentropy.errors import HentropyError, NoStore
from hentropy.studies.records import State
from hentropy.studies.storage import open_store

ROUND = 20
"""Kills in one store; then a new one is made, so that reading it does not take ever longer."""
PATIENCE = 300.0
"""Seconds after which a process that does nothing is taken to hang."""
CELLS = [(name, kind) for name, verb in VERBS.items() for kind in ("SQLite", "PostgreSQL") if verb.only in ("", kind)]


@dataclass
class Tally:
    """What came of the kills in one verb."""

    kills: int = 0
    acknowledged: int = 0
    found: int = 0
    lost: int = 0
    doubled: int = 0
    unreadable: int = 0
    mistaken: int = 0
    """Successes that are recorded as failures."""


def killed_in(name: str, count: int, stores: Iterator[str], moments: random.Random) -> Tally:
    """Kill so many processes in one verb, and count what is left of what they acknowledged."""
    verb, tally, opening, mistaken = VERBS[name], Tally(), 0.1, 0
    with tempfile.TemporaryDirectory() as place:
        for first in range(0, count, 1 if verb.new_store else ROUND):
            folder, url = Path(place, str(first)), next(stores)
            folder.mkdir()
            for number in range(first, min(first + (1 if verb.new_store else ROUND), count)):
                opening = _kill_once(name, url, folder, number, moments, opening)
                tally.kills += 1
                acknowledged = Counter(noted(folder))
                try:
                    there, mistaken = _found(verb, url, folder, needed=bool(acknowledged))
                    found = Counter(there)
                except (HentropyError, AssertionError, OSError) as error:
                    print(f"{name}, kill {number}: {error}", file=sys.stderr)
                    tally.unreadable += 1
            tally.acknowledged += acknowledged.total()
            tally.found += found.total()
            tally.mistaken += mistaken
            tally.lost += (acknowledged - found).total()
            tally.doubled += sum(times - 1 for times in found.values())
    return tally


def _kill_once(name: str, url: str, folder: Path, number: int, moments: random.Random, opening: float) -> float:
    """Kill a process, after something was acknowledged or before; `opening` seconds is how long that takes."""
    verb = VERBS[name]
    if not verb.new_store:
        study = kept(url, **verb.options)
        verb.prepare(study, number)
        study.close()
    before, wanted = len(noted(folder)), min(moments.choice((0, 1, 1, 2, 5)), verb.most)
    start = time.monotonic()
    process = started(repeat, name, url, folder, 100_000 * number)
    while (noticed := len(noted(folder)) - before) < wanted:
        assert process.is_alive(), f"{name} has ended by itself"
        assert time.monotonic() < start + PATIENCE, f"{name} does nothing"
        if noticed == 0:
            opening = time.monotonic() - start
        time.sleep(0.001)
    time.sleep(moments.uniform(0.0, verb.seconds if wanted else opening))
    kill(process)
    return opening


def _found(verb: Verb, url: str, folder: Path, needed: bool) -> tuple[list[str], int]:
    """What is there, and how many trials have failed of which nobody said so."""
    try:
        open_store(url, make=False).close()
    except NoStore:
        assert not needed, "there is no store any more"
    study = kept(url, **verb.options)
    try:
        numbers = [trial.number for trial in study.records]
        assert numbers == list(range(len(numbers))), "numbers have holes"
        failed = sum(trial.state is State.FAILED for trial in study.records)
        return verb.found(study, folder), 0 if verb.fails else failed
    finally:
        study.close()
        sound(url)


def sqlite_stores(folder: Path) -> Iterator[str]:
    for number in itertools.count():
        yield f"sqlite:///{folder}/{number}.db"


def postgres_stores(url: str) -> Iterator[str]:
    while True:
        name = f"kills_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        yield url.replace("/postgres", f"/{name}")


def table(rows: dict[tuple[str, str], Tally]) -> str:
    names = [column.name for column in fields(Tally)]
    lines = [f"| verb | database | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    total = Tally(*(sum(getattr(tally, name) for tally in rows.values()) for name in names))
    for (verb, kind), tally in [*rows.items(), (("all", ""), total)]:
        lines.append(f"| {verb} | {kind} | " + " | ".join(f"{getattr(tally, name):,}" for name in names) + " |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100, help="kills in all verbs and databases together")
    options.add_argument("--verbs", nargs="*", default=list(VERBS), choices=list(VERBS))
    options.add_argument("--databases", nargs="*", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--json", type=Path, help="write the figures to a file")
    given = options.parse_args()
    cells = [(verb, kind) for verb, kind in CELLS if verb in given.verbs and kind in given.databases]
    start, rows = time.perf_counter(), {}
    with tempfile.TemporaryDirectory() as folder, server() as url:
        stores = {"SQLite": sqlite_stores(Path(folder)), "PostgreSQL": postgres_stores(url)}
        for place, (verb, kind) in enumerate(cells):
            count = given.count // len(cells) + (place < given.count % len(cells))
            rows[verb, kind] = killed_in(verb, count, stores[kind], random.Random(f"{given.seed} {verb} {kind}"))
            print(
                f"[{time.perf_counter() - start:6.0f} s] {verb}, {kind}: {rows[verb, kind]}",
                file=sys.stderr,
                flush=True,
            )
    print(table(rows))
    if given.json:
        given.json.write_text(
            json.dumps([{"verb": v, "database": k, **vars(t)} for (v, k), t in rows.items()], indent=1)
        )
    if any(tally.lost or tally.doubled or tally.unreadable or tally.mistaken for tally in rows.values()):
        sys.exit("something was lost, doubled or unreadable, or is mistaken for a failure")


if __name__ == "__main__":
    main()
