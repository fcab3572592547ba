"""What open pages cost: `python -m benchmarks.pages`.

1. How long a read takes: with nothing else to do, while a proposal is computed, and with many pages open.
2. How much slower a run in another process gets while many pages watch it.

Everything runs on this machine: the server (`hentropy serve`), its processes, and the pages, which do as browsers do:
they hear that there is news, wait for a moment, and fetch the page anew.
"""

import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

import hentropy as he

HENTROPY = (sys.executable, "-m", "hentropy")
READS = 60
PAGES, WATCHING = 50, 20
REPEATS = 3
TRIALS = 16
PAUSE = 0.25
"""Seconds between news and the fetch of a page, as in page.js."""

OBJECTIVE = """
import math
def measure(x, y):
    return math.sin(5 * x) + math.cos(7 * y) * y
"""
FILE = """
version = 1
name = "{name}"
seed = {seed}

[space]
x = {{ type = "real", low = 0.0, high = 1.0 }}
y = {{ type = "real", low = 0.0, high = 1.0 }}

[decision]
name = "maximize"

[objective]
type = "python"
function = "objective:measure"

[stop]
trials = {trials}

[storage]
url = "{url}"
"""


@contextlib.contextmanager
def serving(url: str) -> Iterator[tuple[str, int]]:
    """The address of a server for a store, and the number of its process."""
    command = [*HENTROPY, "serve", "--store", url, "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            yield said.split(" at ")[1].strip().rstrip("/"), process.pid
        finally:
            process.terminate()
            process.wait()


class Page:
    """An open page: it listens, and fetches itself anew when there is news."""

    def __init__(self, address: str, study: int) -> None:
        self._page = f"{address}/studies/{study}"
        self._ended = threading.Event()
        self._there = threading.Event()
        self._news = threading.Event()
        self._http = httpx.Client(timeout=60.0)
        self.fetched: list[float] = []
        self._threads = [threading.Thread(target=task, daemon=True) for task in (self._listen, self._fetch)]
        for thread in self._threads:
            thread.start()
        self._there.wait(60.0)

    def _listen(self) -> None:
        with contextlib.suppress(httpx.HTTPError), self._http.stream("GET", f"{self._page}/events") as response:
            for line in response.iter_lines():
                self._there.set()
                if self._ended.is_set():
                    return
                if line.startswith("event:"):
                    self._news.set()

    def _fetch(self) -> None:
        while not self._ended.is_set():
            if self._news.wait(0.1):
                time.sleep(PAUSE)
                self._news.clear()
                with contextlib.suppress(httpx.HTTPError):
                    self.fetched.append(read(self._http, self._page))

    def close(self) -> None:
        self._ended.set()
        self._http.close()


@contextlib.contextmanager
def open_pages(address: str, study: int, count: int) -> Iterator[list[Page]]:
    pages = [Page(address, study) for _ in range(count)]
    try:
        yield pages
    finally:
        for page in pages:
            page.close()


def read(http: httpx.Client, path: str) -> float:
    """Seconds until the whole answer is there."""
    start = time.perf_counter()
    http.get(path).raise_for_status()
    return time.perf_counter() - start


def reads(address: str, study: int) -> dict[str, list[float]]:
    """Seconds of reads, taken by turns, not faster than a person's browser would."""
    paths = {
        "page": f"/studies/{study}",
        "study (API)": f"/api/studies/{study}",
        "trials (API)": f"/api/studies/{study}/trials",
    }
    times: dict[str, list[float]] = {name: [] for name in paths}
    with httpx.Client(base_url=address, timeout=60.0) as http:
        for _ in range(READS):
            for name, path in paths.items():
                times[name].append(read(http, path))
                time.sleep(0.02)
    return times


def report(kind: str, when: str, times: dict[str, list[float]]) -> None:
    cells = " | ".join(f"{1e3 * statistics.median(each):.0f} / {1e3 * high(each):.0f}" for each in times.values())
    print(f"| {kind} | {when} | {cells} |", flush=True)


def high(times: Sequence[float]) -> float:
    """The 95 % quantile."""
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def latency(kind: str, url: str) -> None:
    space = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
    study = he.Study(space, he.KGuesses(k=4), storage=url, name="latency")
    rows = space.sample(60, seed=1)
    study.attach_many((space.decode(row), math.sin(5 * float(row[0])) + float(row[1])) for row in rows)
    number = study.log.record.id
    with serving(url) as (address, _), httpx.Client(base_url=f"{address}/api", timeout=60.0) as http:
        reads(address, number)  # what is read for the first time is not counted
        report(kind, "nothing else", reads(address, number))
        job = http.post(f"/studies/{number}/ask", json={"count": 4}).json()["job"]["id"]
        while "valuing" not in http.get(f"/jobs/{job}").json()["job"]["phase"]:
            time.sleep(0.1)
        report(kind, "a proposal is computed", reads(address, number))
        assert http.get(f"/jobs/{job}").json()["job"]["state"] == "running"
        http.delete(f"/jobs/{job}")
        with open_pages(address, number, PAGES):
            settled(http, number)
            report(kind, f"{PAGES} pages open", reads(address, number))
    study.close()


def settled(http: httpx.Client, number: int) -> None:
    """Wait until nothing is computed for a study, and the pages have heard of it."""
    while any(job["state"] in ("waiting", "running") for job in http.get(f"/studies/{number}/jobs").json()["jobs"]):
        time.sleep(0.3)
    time.sleep(2.0)


def study_file(folder: Path, url: str, name: str, seed: int) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(FILE.format(name=name, seed=seed, trials=TRIALS, url=url))
    return file


def seconds_of_run(folder: Path, url: str, name: str, seed: int) -> float:
    """Seconds of a run in its own process, which are those of proposals: the experiment takes no time."""
    file = study_file(folder, url, name, seed)
    start = time.perf_counter()
    subprocess.run([*HENTROPY, "run", str(file)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def processor_seconds(process: int) -> dict[str, float]:
    """What a server has used of the processor so far: itself, and the processes that compute for it."""
    tick = os.sysconf("SC_CLK_TCK")

    def used(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / tick

    children = Path(f"/proc/{process}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return {"pages": used(process), "looks": sum(map(used, pids))}


def watched(kind: str, url: str, folder: Path) -> None:
    """The same run alone and watched, by turns."""
    (folder / "objective.py").write_text(OBJECTIVE)
    ratios: dict[int, list[float]] = {1: [], WATCHING: []}
    used: dict[int, list[dict[str, float]]] = {pages: [] for pages in ratios}
    fetched = dict.fromkeys(ratios, 0)
    alone = []
    with serving(url) as (address, process), httpx.Client(base_url=f"{address}/api", timeout=60.0) as http:
        for repeat in range(REPEATS):
            alone.append(seconds_of_run(folder, url, f"alone {kind} {repeat}", repeat))
            for pages, found in ratios.items():
                name = f"{pages} watch {kind} {repeat}"
                he.Study.from_file(study_file(folder, url, name, repeat)).close()
                [study] = http.get("/studies", params={"name": name}).json()["studies"]
                with open_pages(address, study["id"], pages) as opened:
                    time.sleep(8.0)  # the processes of the server have started
                    before = processor_seconds(process)
                    seconds = seconds_of_run(folder, url, name, repeat)
                    after = processor_seconds(process)
                    found.append(seconds / alone[-1])
                    used[pages].append({what: 100 * (after[what] - before[what]) / seconds for what in before})
                    fetched[pages] += sum(len(page.fetched) for page in opened)
                    settled(http, study["id"])
    for pages, found in ratios.items():
        each = ", ".join(f"{ratio:.2f}" for ratio in found)
        shares = (statistics.median(one[what] for one in used[pages]) for what in ("pages", "looks"))
        cells = " | ".join(f"{share:.0f} %" for share in shares)
        ratio, usual = statistics.median(found), statistics.median(alone)
        print(f"| {kind} | {pages} | {usual:.1f} | {ratio:.2f} ({each}) | {cells} | {fetched[pages]} |", flush=True)


def main() -> None:
    urls = {"PostgreSQL": os.environ["POSTGRES_URL"]} if "POSTGRES_URL" in os.environ else {}
    with tempfile.TemporaryDirectory() as folder:
        urls["SQLite"] = f"sqlite:///{folder}/hentropy.db"
        print("Milliseconds of a read, median / 95 %:\n\n| store | meanwhile | page | study (API) | trials (API) |")
        print("|---|---|---|---|---|")
        for kind, url in urls.items():
            latency(kind, url)
        print("\n| store | pages that watch | s alone | times as long | processor: pages | looks | fetches |")
        print("|---|---|---|---|---|---|---|")
        for kind, url in urls.items():
            watched(kind, url, Path(folder))


if __name__ == "__main__":
    main()
