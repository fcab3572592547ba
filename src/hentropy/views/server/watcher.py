"""`Watcher`: tells open pages what changes, from whatever process it comes, with one reader for each watched study."""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hentropy.errors import Gone, StorageError
from hentropy.studies.records import Measurement, State, StudyKey, StudyRecord, Trial
from hentropy.studies.storage import News, Store
from hentropy.views.server.jobs import Busy, Job, JobService, Part, job_json


@dataclass(frozen=True)
class Event:
    """Something that happened; a newer one of the same name and subject makes it void."""

    name: str
    data: Mapping[str, Any] = field(compare=False)
    subject: str = ""


class Subscriber:
    """Events for one listener, by subject; the `owner` is the client that listens. Used only in the event loop."""

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self._events: dict[tuple[str, str], Event] = {}
        self._there = asyncio.Event()
        self._over = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        return self._over.is_set()

    def put(self, event: Event) -> None:
        """Keep an event until it is taken, after all that came before it."""
        key = (event.name, event.subject)
        self._events.pop(key, None)
        self._events[key] = event
        self._there.set()

    def end(self) -> None:
        """Nothing will come any more."""
        self._over.set()
        self._there.set()

    async def take(self, seconds: float) -> list[Event]:
        """All that has come, waited for at most so many seconds; nothing if nothing came, or at the end."""
        try:
            await asyncio.wait_for(self._there.wait(), seconds)
        except TimeoutError:
            return []
        events = list(self._events.values())
        self._events.clear()
        if not self.ended:
            self._there.clear()
        return events

    async def rest(self, seconds: float) -> None:
        """Let so many seconds pass, but none after the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)


log = logging.getLogger("hentropy.views.server")

INTERVAL = 0.7
"""Seconds between two looks into the store for the same study."""

PATIENCE = 10.0
"""The most seconds between two attempts while the store is away."""

READERS = 2
"""Threads that read: they are apart from those of requests, which never wait for them."""


@dataclass
class Watch:
    """A study that somebody watches: what is known of it, and who listens.

    `wants` says that its trials have changed since a look was last asked for.
    """

    record: StudyRecord
    computable: bool
    listeners: set[Subscriber] = field(default_factory=set)
    trials: dict[int, Trial] = field(default_factory=dict)
    revision: int = 0
    read: bool = False
    wants: bool = False
    looked: bool = False
    task: asyncio.Task[None] | None = None


class Watcher:
    """Made in a running event loop, and used only from it. At most `listeners` pages listen, `each` of one client.

    Events: `snapshot` at first, then `trials` {"revision"}, `job` (a job), `look` {"part", "complete"}, and `gone` as
    the last one. A new look is asked for when trials have changed, at a low priority.
    """

    def __init__(
        self, store: Store, job_service: JobService, *, listeners: int = 500, each: int = 50, interval: float = INTERVAL
    ) -> None:
        self._store = store
        self._job_service = job_service
        self._most = listeners
        self._each = each
        self._closed = False
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="hentropy-watch")
        self._watches: dict[StudyKey, Watch] = {}
        self._leave_job_service = job_service.subscribe(self._hear)

    @property
    def listeners(self) -> int:
        """How many pages listen."""
        return sum(len(watch.listeners) for watch in self._watches.values())

    @property
    def watched(self) -> int:
        """How many studies are read."""
        return len(self._watches)

    def join(self, record: StudyRecord, *, client: str = "", computable: bool = True) -> Subscriber:
        """Listen to a study; `Busy` if too many listen. Whoever joins has to `leave`."""
        if self._closed:
            raise Busy("the server is shutting down")
        if self.listeners >= self._most:
            raise Busy(f"{self._most} pages are open already, and no more can be kept up to date; close some")
        if sum(box.owner == client for watch in self._watches.values() for box in watch.listeners) >= self._each:
            raise Busy(f"{self._each} pages of yours are open already, and no more are kept up to date; close some")
        key = record.key
        watch = self._watches.setdefault(key, Watch(record, computable))
        subscriber = Subscriber(client)
        watch.listeners.add(subscriber)
        if watch.read:
            subscriber.put(self._snapshot(watch))
        if watch.task is None:
            watch.task = self._loop.create_task(self._follow(watch))
            if computable:  # whoever opens a page may soon ask
                self._threads.submit(self._job_service.prepare)
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Listen no more; a study that nobody watches is no longer read."""
        for key, watch in tuple(self._watches.items()):
            watch.listeners.discard(subscriber)
            if not watch.listeners:
                del self._watches[key]
                if watch.task is not None:
                    watch.task.cancel()

    async def close(self) -> None:
        """End all that goes on; whoever listens hears no more."""
        self._closed = True
        self._leave_job_service()
        for watch in tuple(self._watches.values()):
            for subscriber in tuple(watch.listeners):
                subscriber.end()
                self.leave(subscriber)
        await self._loop.run_in_executor(None, self._threads.shutdown)

    async def _follow(self, watch: Watch) -> None:
        """Read what is new, for as long as somebody listens; a store that is away is asked again."""
        pause = self._interval
        while True:
            try:
                read = self._loop.run_in_executor(self._threads, self._store.news, watch.record, watch.revision)
                self._take(watch, await read)
                pause = self._interval
            except Gone:
                self._lose(watch)
                return
            except StorageError as error:
                pause = min(2 * pause, PATIENCE)
                log.warning("the study %r is not followed for %.1f s: %s", watch.record.name, pause, error)
            except Exception:  # whatever it is, the pages wait for news
                pause = PATIENCE
                log.exception("the study %r is not followed for %.1f s", watch.record.name, pause)
            self._look(watch)
            await asyncio.sleep(pause)

    def _take(self, watch: Watch, news: News) -> None:
        """Tell the listeners what has changed; that a worker still has its trial is no news to them."""
        changed = [e.trial for e in news.entries if watch.trials.get(e.trial.number) != e.trial]
        watch.wants |= any(_seen(watch.trials.get(trial.number)) != _seen(trial) for trial in changed)
        watch.trials.update((trial.number, trial) for trial in changed)
        watch.revision = news.revision
        if not watch.read:
            watch.read = watch.wants = True
            _spread(watch, self._snapshot(watch))
        elif changed:
            _spread(watch, Event("trials", {"revision": watch.revision}))

    def _look(self, watch: Watch) -> None:
        """Have the verdict and the pictures recomputed, if there is something to see and room for it."""
        if not watch.wants or not watch.computable:
            return
        if any(trial.state is State.COMPLETE for trial in watch.trials.values()):
            with suppress(Busy):  # then at the next turn
                self._job_service.renew(watch.record, watch.revision, soon=False, opened=not watch.looked)
                watch.wants, watch.looked = False, True

    def _lose(self, watch: Watch) -> None:
        self._job_service.forget(watch.record)
        self._watches.pop(watch.record.key, None)
        for subscriber in watch.listeners:
            subscriber.put(Event("gone", {}))
            subscriber.end()

    def _snapshot(self, watch: Watch) -> Event:
        """Where a study stands: what it shows, what is computed for it, and what was last seen of it."""
        look = self._job_service.latest(watch.record)
        jobs = [job_json(job) for job in self._job_service.jobs(watch.record) if not job.ended]
        seen = None if look is None else {"mark": look.mark, "complete": look.complete}
        return Event("snapshot", {"revision": watch.revision, "jobs": jobs, "look": seen})

    def _hear(self, news: Job | Part) -> None:
        """From a thread of the job service."""
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._pass_on, news)

    def _pass_on(self, news: Job | Part) -> None:
        watch = self._watches.get(news.study if isinstance(news, Job) else news.look.study)
        if watch is not None:
            _spread(watch, _event(news))


def _event(news: Job | Part) -> Event:
    if isinstance(news, Job):
        return Event("job", job_json(news), news.id)
    data: Mapping[str, Any] = {"part": news.name, "complete": news.look.complete}
    return Event("look", data, news.name)


def _spread(watch: Watch, event: Event) -> None:
    for subscriber in watch.listeners:
        subscriber.put(event)


def _seen(trial: Trial | None) -> tuple[State, Mapping[str, Measurement]] | None:
    """What verdict and pictures depend on."""
    return None if trial is None else (trial.state, trial.measurements)
