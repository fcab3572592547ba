"""`Metrics`: what a server has done and what waits, in the text format of Prometheus; and a line for each request."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hentropy._version import __version__
from hentropy.studies.records import State
from hentropy.views.server.guard.rates import client_in
from hentropy.views.server.guard.sessions import KEY, access_of
from hentropy.views.server.study_list import ListedStudy
from hentropy.views.server.work import Job, Part
from hentropy.views.text.log_lines import FIELDS

REQUEST_SECONDS = (0.01, 0.05, 0.25, 1.0, 5.0)
JOB_SECONDS = (0.5, 2.0, 10.0, 60.0, 300.0)
"""The upper ends of the bars of the histograms."""

TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How often something took how long, by labels. Not safe for threads by itself."""

    def __init__(self, ends: tuple[float, ...]) -> None:
        self._ends = ends
        self._counts: dict[Labels, list[int]] = defaultdict(lambda: [0] * len(ends))
        self._sums: dict[Labels, float] = defaultdict(float)
        self._totals: Counter[Labels] = Counter()

    def add(self, labels: Labels, seconds: float) -> None:
        """Count one more duration."""
        self._counts[labels] = [n + (seconds <= end) for n, end in zip(self._counts[labels], self._ends, strict=True)]
        self._sums[labels] += seconds
        self._totals[labels] += 1

    def samples(self, name: str) -> Iterable[str]:
        """The lines of the text format."""
        for labels, total in sorted(self._totals.items()):
            for end, count in zip(self._ends, self._counts[labels], strict=True):
                yield sample(f"{name}_bucket", (*labels, ("le", f"{end:g}")), count)
            yield sample(f"{name}_bucket", (*labels, ("le", "+Inf")), total)
            yield sample(f"{name}_sum", labels, self._sums[labels])
            yield sample(f"{name}_count", labels, total)


def sample(name: str, labels: Labels, value: float) -> str:
    """A line of the text format."""
    said = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{said}}} {value:g}" if said else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def family(name: str, kind: str, said: str, samples: Iterable[str]) -> list[str]:
    """All lines of a metric."""
    return [f"# HELP {name} {said}", f"# TYPE {name} {kind}", *samples]


@dataclass
class Metrics:
    """Counts since the server began. Safe for threads."""

    requests: Histogram = field(default_factory=lambda: Histogram(REQUEST_SECONDS))
    answers: Counter[Labels] = field(default_factory=Counter)
    jobs: Histogram = field(default_factory=lambda: Histogram(JOB_SECONDS))
    waits: Histogram = field(default_factory=lambda: Histogram(JOB_SECONDS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is how the server calls the path, so that there are few."""
        with self._lock:
            self.answers[("method", method), ("route", route), ("status", str(status))] += 1
            self.requests.add((("route", route),), seconds)

    def hear(self, news: Job | Part) -> None:
        """A listener of the job service: jobs that end are counted."""
        if isinstance(news, Job) and news.ended and news.ended_at is not None:
            labels = (("kind", news.kind), ("state", news.state))
            began = news.ended_at if news.began_at is None else news.began_at
            with self._lock:
                self.jobs.add(labels, max(0.0, news.ended_at - began))
                self.waits.add((("kind", news.kind),), max(0.0, began - news.created_at))

    def text(self, studies: Iterable[ListedStudy], jobs: Iterable[Job], listeners: int, now: float) -> str:
        """Everything, with how the studies of the store and the queue stand now."""
        known = tuple(studies)
        trials: Counter[str] = Counter({state.value: 0 for state in State})
        for one in known:
            trials.update(one.counts)
        workers = {owner for one in known for owner, until in one.leases if until > now}
        queue = Counter({(kind, state): 0 for kind in ("ask", "look") for state in ("waiting", "running")})
        queue.update((job.kind, job.state) for job in jobs if not job.ended)
        with self._lock:
            lines = [
                *_by("hentropy_info", "Version.", {(("version", __version__),): 1}),
                *_by("hentropy_studies", "Studies in the store.", {(): len(known)}),
                *_by(
                    "hentropy_trials",
                    "Trials in the store: all were asked or attached, complete ones were told.",
                    {(("state", state),): count for state, count in trials.items()},
                ),
                *_by("hentropy_workers", "Workers that hold the lease of a trial.", {(): len(workers)}),
                *_by(
                    "hentropy_queue",
                    "Proposals (ask) and verdicts (look) that wait or run.",
                    {(("kind", kind), ("state", state)): count for (kind, state), count in queue.items()},
                ),
                *_by("hentropy_pages", "Open pages.", {(): listeners}),
                *family(
                    "hentropy_job_seconds",
                    "histogram",
                    "Time of proposals and verdicts that ended, by how they ended.",
                    self.jobs.samples("hentropy_job_seconds"),
                ),
                *family(
                    "hentropy_job_wait_seconds",
                    "histogram",
                    "Time that they waited before.",
                    self.waits.samples("hentropy_job_wait_seconds"),
                ),
                *family(
                    "hentropy_requests_total",
                    "counter",
                    "Requests answered.",
                    [sample("hentropy_requests_total", labels, n) for labels, n in sorted(self.answers.items())],
                ),
                *family(
                    "hentropy_request_seconds",
                    "histogram",
                    "Time until the answer to a request begins.",
                    self.requests.samples("hentropy_request_seconds"),
                ),
            ]
        return "\n".join(lines) + "\n"


def _by(name: str, said: str, counts: Mapping[Labels, float]) -> list[str]:
    return family(name, "gauge", said, [sample(name, labels, count) for labels, count in counts.items()])


LOG = logging.getLogger("hentropy.requests")

ELSEWHERE = "other"
"""The route of requests that match none: clients can try any number of paths."""


METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
"""The methods that are counted by name; clients can invent others."""


class Requests:
    """Counts requests and logs each with its person, without what it carries: queries may hold a token."""

    def __init__(self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = self._clock(), 500

        async def noticed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._answered(scope, status, self._clock() - began)
            await send(message)

        await self.app(scope, receive, noticed)

    def _answered(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope["route"].path if "route" in scope else ELSEWHERE
        method = scope["method"] if scope["method"] in METHODS else ELSEWHERE
        self._metrics.answered(method, route, status, seconds)
        path = "".join(letter if letter.isprintable() else " " for letter in scope["path"])
        person = access_of(scope).name if KEY in scope else None
        fields = {"client": client_in(scope), "person": person, "method": scope["method"], "path": path}
        fields |= {"status": status, "seconds": round(seconds, 6)}
        who = fields["client"] if person is None else f"{fields['client']} {person}"
        LOG.info("%s %s %s %d", who, scope["method"], path, status, extra={FIELDS: fields})
