"""Many clients at once on PostgreSQL: nothing is lost, and who reads does not wait for who computes."""

import math
import os
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.studies.records import State
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import Served, served
from support.tiers import nightly
from support.waiting import PATIENCE, until

EACH, BY_MODEL = 3, 6
"""How many trials a client does; of all of them, so many are proposed by the model."""

SPACE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
GENEROUS = ServerLimits(per_second=1e6, burst=1_000_000, jobs=200)


@dataclass(frozen=True)
class Told:
    """What one client has done: the values by the numbers of its trials, and the statuses of all answers."""

    values: dict[int, float]
    statuses: Counter[int]


class Client:
    """Asks and tells over the network, as a program in the lab would."""

    def __init__(self, address: str, study: int, name: int) -> None:
        self._http = httpx.Client(base_url=f"{address}/api", timeout=PATIENCE)
        self._study = study
        self._name = name
        self.statuses: Counter[int] = Counter()

    def work(self) -> Told:
        """Several experiments, one after the other."""
        with self._http:
            return Told(dict(self._experiment() for _ in range(EACH)), self.statuses)

    def _experiment(self) -> tuple[int, float]:
        answer = self._send("POST", f"/studies/{self._study}/ask?wait=30", json={"count": 1, "anyway": True})
        while answer["job"]["state"] in ("waiting", "running"):
            answer = self._send("GET", f"/jobs/{answer['job']['id']}?wait=30")
        [trial] = answer["trials"]
        value = math.sin(5 * trial["params"]["x"]) + trial["params"]["y"] + 1e-6 * self._name
        told = {"value": value, "note": f"client {self._name}"}
        self._send("POST", f"/studies/{self._study}/trials/{trial['number']}/tell", json=told)
        return trial["number"], value

    def _send(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        response = self._http.request(method, path, **body)
        self.statuses[response.status_code] += 1
        assert response.is_success, response.text
        answer: dict[str, Any] = response.json()
        return answer


@pytest.fixture
def server(postgres_url: str) -> Iterator[Served]:
    with served(Settings(postgres_url, limits=GENEROUS)) as it:
        yield it


@pytest.mark.parametrize("count", [8, nightly(50)])
def test_many_clients_lose_nothing(count: int, server: Served, postgres_url: str) -> None:
    address = server.url
    study = he.Study(
        SPACE, he.Maximize(), name="load", first=count * EACH - BY_MODEL, hyperparameters="map", storage=postgres_url
    )
    clients = [Client(address, study.log.record.id, name) for name in range(count)]
    begun, over = time.monotonic(), threading.Event()
    with ThreadPoolExecutor(count + 1) as threads:
        reading = threads.submit(_reads_until, over, address, f"/studies/{study.log.record.id}")
        try:
            done = list(threads.map(Client.work, clients))
        finally:
            over.set()
    seconds = time.monotonic() - begun
    statuses = sum((told.statuses for told in done), Counter[int]())
    print(f"\n{count} clients, {count * EACH} trials in {seconds:.1f} s; answers {dict(statuses)}")
    assert max(statuses) < 300
    middle = statistics.median(reading.result())
    print(
        f"{len(reading.result())} reads meanwhile: median {1e3 * middle:.0f} ms, slowest {max(reading.result()):.2f} s"
    )
    assert len(reading.result()) > count, "who reads waits for who computes"
    owners = Counter(number for told in done for number in told.values)
    assert owners == Counter(range(count * EACH)), "every trial was handed to one client"
    trials = study.records
    assert [trial.number for trial in trials] == list(range(count * EACH))
    assert {trial.number: trial.value for trial in trials} == {n: v for told in done for n, v in told.values.items()}
    assert all(trial.state is State.COMPLETE for trial in trials)
    assert sum(trial.origin == "proposed" for trial in trials) == BY_MODEL
    # everything was told once, and by the client that had it
    observations = study.store.observations(study.log.record)
    assert Counter(one.number for one in observations) == owners
    notes = {number: f"client {name}" for name, told in enumerate(done) for number in told.values}
    assert {one.number: one.note for one in observations} == notes
    # who asks knows of what others were given; a corner of the space may be worth a second run
    assert len({tuple(trial.params.items()) for trial in trials}) >= 0.95 * len(trials)
    study.close()


def test_reading_does_not_wait_for_a_proposal(server: Served, postgres_url: str) -> None:
    study = he.Study(SPACE, he.KGuesses(4), name="slow", storage=postgres_url)
    study.attach_many([({"x": (0.37 * i) % 1, "y": (0.61 * i) % 1}, math.sin(i)) for i in range(25)])
    with httpx.Client(base_url=f"{server.url}/api", timeout=PATIENCE) as http:
        paths = (f"/studies/{study.log.record.id}", f"/studies/{study.log.record.id}/trials")
        idle = [_seconds(http, path) for path in paths * 20]
        # so many at once take minutes; stopped in the middle of it, it does not end by itself
        job = http.post(f"{paths[0]}/ask", json={"count": 50}).json()["job"]["id"]
        until(lambda: "evaluating" in http.get(f"/jobs/{job}").json()["job"]["phase"])
        [asking] = server.services.job_service.processes
        os.kill(asking, signal.SIGSTOP)
        busy = [_seconds(http, path) for path in paths * 30]
        assert http.get(f"/jobs/{job}").json()["job"]["state"] == "running", "the reads waited for it"
        assert http.delete(f"/jobs/{job}").json()["job"]["state"] == "cancelled"
        for what, times in (("idle", idle), ("while a proposal is computed", busy)):
            print(f"\nreads {what}: median {1e3 * statistics.median(times):.1f} ms, slowest {1e3 * max(times):.1f} ms")
    assert len(study.records) == 25
    study.close()


def _reads_until(over: threading.Event, address: str, path: str) -> list[float]:
    times = []
    with httpx.Client(base_url=f"{address}/api", timeout=PATIENCE) as http:
        while not over.is_set():
            times.append(_seconds(http, path))
    return times


def _seconds(http: httpx.Client, path: str) -> float:
    begun = time.perf_counter()
    assert http.get(path).status_code == 200
    return time.perf_counter() - begun
