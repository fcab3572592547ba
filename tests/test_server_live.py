"""Open pages hear what changes: one reader for each study, slow and lost listeners, a store that goes away."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.sse import ServerSentEvent

import hentropy as he
from hentropy.errors import StorageError
from hentropy.studies.records import Entry, StudyRecord
from hentropy.studies.storage import MemoryStore, News, open_store
from hentropy.views.server.events import stream
from hentropy.views.server.jobs import Busy, JobService
from hentropy.views.server.settings import ServerLimits, Settings
from hentropy.views.server.watcher import Event, Subscriber, Watcher
from support.serving import Served, served
from support.waiting import PATIENCE as SOON

PAUSE = 0.02
SPACE = he.Space(x=he.Real(0, 1))


class Counted(MemoryStore):
    """A store that counts how often it is read, and is away when it shall be."""

    reads = 0
    away = False

    def news(self, study: StudyRecord, since: int = 0) -> News:
        self.reads += 1
        if self.away:
            raise StorageError("the database does not answer")
        return super().news(study, since)


@pytest.fixture
def store() -> Counted:
    return Counted()


@pytest.fixture
def study(store: Counted) -> he.Study:
    return he.Study(SPACE, he.Maximize(), storage=store, name="live", first=3)


@pytest.fixture
def job_service(tmp_path: Path) -> Iterator[JobService]:
    """One that has nothing to do."""
    with contextlib.closing(JobService(f"sqlite:///{tmp_path / 'none.db'}")) as made:
        yield made


@contextlib.asynccontextmanager
async def watching(store: Counted, job_service: JobService, listeners: int = 500) -> AsyncIterator[Watcher]:
    watcher = Watcher(store, job_service, listeners=listeners, each=100, interval=PAUSE)
    try:
        yield watcher
    finally:
        await watcher.close()


async def next_event(subscriber: Subscriber) -> Event:
    """The only event that has come."""
    [event] = await subscriber.take(SOON)
    return event


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON):
        while not condition():
            await asyncio.sleep(0.01)


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(test())


def test_what_others_do_is_heard(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service) as watcher:
            subscriber = watcher.join(study.log.record, computable=False)
            assert await next_event(subscriber) == Event("snapshot", {})
            trial = study.ask()
            asked = await next_event(subscriber)
            assert asked.name == "trials"
            study.tell(trial, 1.0)
            told = await next_event(subscriber)
            assert told.name == "trials"
            assert told.data["revision"] > asked.data["revision"]
            late = watcher.join(study.log.record, computable=False)
            snapshot = await next_event(late)
            assert (snapshot.name, snapshot.data["revision"]) == ("snapshot", told.data["revision"])

    run(test)


def test_a_lease_is_no_news(store: Counted, study: he.Study, job_service: JobService) -> None:
    def renewed(entry: Entry, now: float) -> Entry:
        return replace(entry, owner="worker", lease_until=2.0 + (entry.lease_until or 0.0))

    async def test() -> None:
        async with watching(store, job_service) as watcher:
            study.ask()
            subscriber = watcher.join(study.log.record, computable=False)
            await next_event(subscriber)
            before = store.news(study.log.record).revision
            study.log.change(0, renewed)
            assert store.news(study.log.record).revision > before
            assert await subscriber.take(10 * PAUSE) == []

    run(test)


def test_many_pages_are_one_reader(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def reads(pages: int) -> tuple[int, float]:
        async with watching(store, job_service) as watcher:
            subscribers = [watcher.join(study.log.record, computable=False) for _ in range(pages)]
            for subscriber in subscribers:
                await next_event(subscriber)
            assert (watcher.watched, watcher.listeners) == (1, pages)
            begun, at = store.reads, time.monotonic()
            await until(lambda: store.reads > begun + 20)
            read = store.reads - begun
            return read, (time.monotonic() - at) / PAUSE

    async def test() -> None:
        read, pauses = await reads(100)
        assert read <= pauses + 2  # each of 100 readers would make as many

    run(test)


def test_a_study_that_nobody_watches_is_not_read(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service) as watcher:
            first, second = (watcher.join(study.log.record, computable=False) for _ in range(2))
            await next_event(first)
            watcher.leave(first)
            watcher.leave(first)
            assert (watcher.watched, watcher.listeners) == (1, 1)
            watcher.leave(second)
            assert (watcher.watched, watcher.listeners) == (0, 0)
            begun = store.reads
            await asyncio.sleep(20 * PAUSE)
            assert store.reads <= begun + 1  # one reading may have been on its way

    run(test)


def test_only_so_many_listen(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service, listeners=2) as watcher:
            subscriber, _ = (watcher.join(study.log.record, computable=False) for _ in range(2))
            with pytest.raises(Busy, match="2 pages are open"):
                watcher.join(study.log.record)
            watcher.leave(subscriber)
            watcher.join(study.log.record, computable=False)

    run(test)


def test_one_client_takes_only_a_part(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        watcher = Watcher(store, job_service, each=2, interval=PAUSE)
        mine, _ = (watcher.join(study.log.record, client="me", computable=False) for _ in range(2))
        with pytest.raises(Busy, match="2 pages of yours are open already"):
            watcher.join(study.log.record, client="me", computable=False)
        watcher.join(study.log.record, client="you", computable=False)
        watcher.leave(mine)
        watcher.join(study.log.record, client="me", computable=False)
        await watcher.close()

    run(test)


def test_a_client_is_known_by_its_address(tmp_path: Path) -> None:
    with served(Settings(f"sqlite:///{tmp_path / 'lab.db'}", limits=ServerLimits(listeners_each=1))) as server:
        address = f"/studies/{server.create()}/events"
        with server.http.stream("GET", address) as one:
            assert one.status_code == 200
            full = server.http.get(address)
        assert full.status_code == 503
        assert "1 pages of yours" in full.text


def test_a_slow_listener_keeps_only_the_newest(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service) as watcher:
            slow, quick = (watcher.join(study.log.record, computable=False) for _ in range(2))
            for _ in range(5):
                study.ask()
                newest = store.news(study.log.record).revision
                async with asyncio.timeout(SOON):
                    while newest not in [event.data.get("revision") for event in await quick.take(SOON)]:
                        pass
            waiting = await slow.take(SOON)
            assert [event.name for event in waiting] == ["snapshot", "trials"]
            assert waiting[1].data["revision"] == store.news(study.log.record).revision

    run(test)


def test_a_deleted_study_is_gone(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service) as watcher:
            subscriber = watcher.join(study.log.record, computable=False)
            await next_event(subscriber)
            store.delete(study.log.record)
            assert (await next_event(subscriber)).name == "gone"
            assert subscriber.ended
            assert watcher.watched == 0

    run(test)


def test_a_store_that_is_away_is_waited_for(store: Counted, study: he.Study, job_service: JobService) -> None:
    async def test() -> None:
        async with watching(store, job_service) as watcher:
            subscriber = watcher.join(study.log.record, computable=False)
            await next_event(subscriber)
            store.away, begun = True, store.reads
            await until(lambda: store.reads > begun + 2)
            store.away = False
            study.ask()
            assert (await next_event(subscriber)).name == "trials"

    run(test)


def test_a_look_follows_what_is_told(tmp_path: Path) -> None:
    """With real processes: jobs and parts of looks are heard by the pages of their study alone."""
    url = f"sqlite:///{tmp_path / 'lab.db'}"

    async def test() -> None:
        with contextlib.closing(open_store(url)) as store, contextlib.closing(JobService(url)) as job_service:
            study, other = (he.Study(SPACE, he.Maximize(), storage=store, name=name, first=3) for name in "ab")
            watcher = Watcher(store, job_service, interval=PAUSE)
            here, there = (watcher.join(one.log.record) for one in (study, other))
            await here.take(SOON)
            await there.take(SOON)
            study.ask()
            await here.take(SOON)
            await asyncio.sleep(5 * PAUSE)
            assert job_service.jobs() == (), "there is nothing to see before the first value"
            study.tell(0, 1.0)
            heard: list[Event] = []
            async with asyncio.timeout(SOON):
                while not any(event.data.get("part") == "end" for event in heard):
                    heard += await here.take(SOON)
            assert {event.name for event in heard} == {"trials", "job", "look"}
            job = next(event for event in heard if event.name == "job")
            assert job.data["kind"] == "look"
            assert next(event.data["part"] for event in heard if event.name == "look") == "verdict"
            assert await there.take(0.1) == []
            # a value that is attached while nothing is computed makes one look, another page on the same study none
            await until(lambda: all(job.ended for job in job_service.jobs()))
            count = len(job_service.jobs())
            watcher.join(study.log.record)
            await asyncio.sleep(5 * PAUSE)
            assert len(job_service.jobs()) == count
            study.attach({"x": 0.5}, 2.0)
            await until(lambda: len(job_service.jobs()) == count + 1)
            await watcher.close()
            await watcher.close()
            assert watcher.listeners == 0
            with pytest.raises(Busy, match="shutting down"):
                watcher.join(study.log.record)

    run(test)


def test_events_come_with_comments_between_them() -> None:
    async def taken(subscriber: Subscriber, count: int) -> list[ServerSentEvent]:
        """So many events, and the last ones after the end."""
        found = []
        async for event in stream(subscriber, lambda: 0.0, lambda: True, heartbeat=0.01):
            found.append(event)
            if len(found) == count:
                subscriber.end()
        return found

    async def test() -> None:
        subscriber = Subscriber()
        subscriber.put(Event("job", {"phase": "two\nlines"}, "1"))
        subscriber.put(Event("job", {"phase": "done"}, "2"))
        opening, first, second, beat = await taken(subscriber, 4)
        assert opening.retry
        assert (first.event, first.raw_data) == ("job", '{"phase": "two\\nlines"}')
        assert (second.event, second.raw_data) == ("job", '{"phase": "done"}')
        assert beat.comment
        assert beat.raw_data is None

    async def at_once() -> None:
        subscriber = Subscriber()
        asyncio.get_running_loop().call_later(0.05, subscriber.end)
        async with asyncio.timeout(SOON):
            assert len([event async for event in stream(subscriber, lambda: 60.0, lambda: True, heartbeat=0.01)]) > 1

    run(test)
    run(at_once)


def heard(lines: Iterator[str], name: str) -> dict[str, Any]:
    """The data of the next event with this name."""
    for line in lines:
        if line == f"event: {name}":
            data: dict[str, Any] = json.loads(next(lines).removeprefix("data: "))
            return data
    raise AssertionError(f"the stream ended without {name}")


@contextlib.contextmanager
def patient(url: str) -> Iterator[tuple[Served, he.Study]]:
    """A server that keeps two pages up to date, and a study that it shows.

    It waits long for who is to end, and has no heartbeat: what ends or is noticed does so by itself.
    """
    study = he.Study(SPACE, he.Maximize(), storage=url, name="live", first=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hentropy.views.cli.server_process.GRACE", 10 * SOON)
        patch.setattr("hentropy.views.server.events.HEARTBEAT", 10 * SOON)
        with served(Settings(url, limits=ServerLimits(listeners=2))) as server:
            yield server, study
    study.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, he.Study]]:
    with patient(f"sqlite:///{tmp_path_factory.mktemp('lab') / 'lab.db'}") as found:
        yield found


def test_a_page_hears_what_another_process_tells(lab: tuple[Served, he.Study]) -> None:
    server, study = lab
    address = f"{server.url}/studies/{study.log.record.id}/events"
    with httpx.Client(timeout=SOON) as http, http.stream("GET", address) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "no-store" in response.headers["cache-control"]
        lines = response.iter_lines()
        revision = heard(lines, "snapshot")["revision"]
        trial = study.ask()
        assert heard(lines, "trials")["revision"] > revision
        study.tell(trial, 1.0)
        heard(lines, "trials")
        assert heard(lines, "look")["part"] == "verdict"


def test_pages_that_close_make_room(lab: tuple[Served, he.Study]) -> None:
    server, study = lab
    address = f"{server.url}/studies/{study.log.record.id}/events"
    with httpx.Client(timeout=SOON) as http:
        with http.stream("GET", address) as one, http.stream("GET", address) as two:
            assert (one.status_code, two.status_code) == (200, 200)
            full = http.get(address)
            assert full.status_code == 503
            assert "2 pages are open already" in full.text
            assert "retry-after" in full.headers
        deadline = time.monotonic() + SOON
        while True:
            with http.stream("GET", address) as again:
                if again.status_code == 200:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert http.get(f"{server.url}/studies/99/events").status_code == 404


def test_an_open_page_does_not_keep_the_server(sqlite_url: str) -> None:
    with patient(sqlite_url) as (server, study):
        address = f"{server.url}/studies/{study.log.record.id}/events"
        with httpx.Client(timeout=SOON) as http, http.stream("GET", address) as response:
            lines = response.iter_lines()
            heard(lines, "snapshot")
            server.end()
            list(lines)  # the stream has ended in good order
