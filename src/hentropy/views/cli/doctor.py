"""`hentropy doctor`: what is installed here, what it runs on, which extras are missing, and how a server stands."""

import os
import platform
import stat
import sys
from contextlib import closing
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import typer
from packaging.requirements import Requirement

from hentropy._version import __version__
from hentropy.errors import HentropyError, NoStore
from hentropy.lazy import torch
from hentropy.studies.definition.building import DATABASE
from hentropy.studies.storage import open_store
from hentropy.views.cli.arguments import AsJson, StoreUrl
from hentropy.views.cli.opening import file_of, is_there, shown
from hentropy.views.cli.printing import console, print_json, say, table
from hentropy.views.server.guard.people import People

OF_DEVELOPERS = ("test", "dev")
"""Extras that are for those who work on hentropy itself."""


def doctor(
    store: StoreUrl = None,
    people: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The people of a server.", show_default=False)
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server that runs, such as http://127.0.0.1:8470.", show_default=False),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show versions, threads, GPU, the store, the people, a server that runs, and which extras are missing.

    Include the output in bug reports. The exit code is 1 if a required package is missing or its version is not
    supported, if the store cannot be opened or every account may write to it, if the file of people is damaged or
    others may change it, or if the server is not ready.

    Example: hentropy doctor --store sqlite:///lab.db
    """
    parts = {"store": _store(store), "people": _people(people), "server": _server(url)}
    there = {name: part for name, part in parts.items() if part is not None}
    found = {
        "hentropy": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "packages": {one.name: _installed(one) for one in needed("")},
        "computing": _computing(),
        "extras": {extra: _missing(extra) for extra in extras()},
        **there,
    }
    wrong = _missing("") + [part["problem"] for part in there.values() if part["problem"]]
    if json:
        print_json({**found, "problems": wrong})
    else:
        _print(found, there, wrong)
    if wrong:
        raise typer.Exit(1)


def _print(found: dict[str, Any], there: dict[str, Any], wrong: list[str]) -> None:
    rows = [[name, str(found[name])] for name in ("hentropy", "python", "system")]
    rows += [[name, which or "missing"] for name, which in found["packages"].items()]
    rows += [[name, str(value)] for name, value in found["computing"].items()]
    rows += [[name, part["said"]] for name, part in there.items()]
    console().print(table(["what", "here"], rows, left=["what", "here"]))
    lines = [
        [extra, "installed" if not lacks else f"needs {', '.join(lacks)}"] for extra, lacks in found["extras"].items()
    ]
    console().print(table(["extra", "state"], lines, left=["extra", "state"]))
    missing = [extra for extra, lacks in found["extras"].items() if lacks]
    if missing:
        say(f"pip install 'hentropy[{','.join(missing)}]' installs what is missing; most people need only some of it.")
    for each in wrong:
        say(f"problem: {each}", "bold red")


def extras() -> list[str]:
    """The extras that people may want."""
    return [name for name in metadata("hentropy").get_all("Provides-Extra") or [] if name not in OF_DEVELOPERS]


def needed(extra: str) -> list[Requirement]:
    """What an extra needs beyond the rest, extras that it stands on included; without a name, what is always needed."""
    found: dict[str, Requirement] = {}
    for text in requires("hentropy") or []:
        one = Requirement(text)
        own = one.marker is not None and "extra" in str(one.marker)
        if own != bool(extra) or (one.marker is not None and not one.marker.evaluate({"extra": extra})):
            continue
        for each in [one] if one.name != "hentropy" else [each for name in one.extras for each in needed(name)]:
            found[each.name] = each
    return list(found.values())


def _installed(one: Requirement) -> str | None:
    try:
        return version(one.name)
    except PackageNotFoundError:
        return None


def _missing(extra: str) -> list[str]:
    """The requirements that do not hold."""
    wrong = []
    for one in needed(extra):
        here = _installed(one)
        if here is None:
            wrong.append(f"{one.name}{one.specifier}")
        elif not one.specifier.contains(here, prereleases=True):
            wrong.append(f"{one.name}{one.specifier} (here is {here})")
    return wrong


def _computing() -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    said = os.environ.get("OMP_NUM_THREADS", "not set: commands use one thread")
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "cores": str(cores),
        "threads": f"{torch.get_num_threads()} (OMP_NUM_THREADS {said})",
        "GPU": ", ".join(gpus) or "none that PyTorch can use; studies compute on the CPU",
    }


def _store(url: str | None) -> dict[str, Any]:
    """Whether a store can be opened; without a URL, hentropy.db in this folder, which need not be there."""
    place = url or f"sqlite:///{DATABASE}"
    none = {"said": f"no store {shown(place)} yet", "problem": f"there is no store {shown(place)}" if url else None}
    if not is_there(place):
        return none
    try:
        with closing(open_store(place, make=False)) as there:
            studies = len(there.studies())
    except NoStore:
        return none
    except HentropyError as error:
        return {"said": f"{shown(place)} cannot be opened", "problem": str(error)}
    said = f"{shown(place)}, {studies} {'study' if studies == 1 else 'studies'}"
    file = file_of(place)
    return {"said": said, "problem": None if file is None else _too_open(file, stat.S_IWOTH, "o-w", "write to")}


def _too_open(file: Path, others: int, fewer: str, what: str) -> str | None:
    """What is wrong with the rights of a file, if others have more than they should."""
    if not stat.S_IMODE(file.stat().st_mode) & others:
        return None
    return f"other accounts on this machine may {what} {file}; chmod {fewer} {file} ends that"


def _people(file: Path | None) -> dict[str, Any] | None:
    """Whether the people of a server can be read, and by nobody else."""
    if file is None:
        return None
    if not file.is_file():
        return {"said": f"no file {file}", "problem": f"there is no file {file}; hentropy people add NAME makes it"}
    try:
        count = len(People(file).all())
    except HentropyError as error:
        return {"said": f"{file} cannot be read", "problem": str(error)}
    rights = stat.S_IRWXG | stat.S_IRWXO
    said = f"{file}, {count} {'person' if count == 1 else 'people'}"
    return {"said": said, "problem": _too_open(file, rights, "go=", "read or change")}


def _server(url: str | None) -> dict[str, Any] | None:
    """Whether a server is alive and ready."""
    if url is None:
        return None
    url = url.rstrip("/")
    try:
        answered = {path: _asked(f"{url}{path}") for path in ("/health", "/ready")}
    except (OSError, ValueError) as error:
        why = error.reason if isinstance(error, URLError) else error
        return {"said": f"{url} is unreachable", "problem": f"the server at {url} is unreachable: {why}"}
    if answered["/health"] != (200, "ok"):
        return {"said": f"{url} is no hentropy server", "problem": f"what answers at {url} is not a hentropy server"}
    status, text = answered["/ready"]
    ready = status == 200
    return {"said": f"{url} is {'ready' if ready else 'not ready'}", "problem": None if ready else f"{url}: {text}"}


SECONDS = 10.0
"""The most time that a server has to answer."""

MOST = 1_000
"""The bytes of an answer that are read."""


def _asked(url: str) -> tuple[int, str]:
    """The status and the text of an answer, without any proxy between."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=SECONDS) as answer:
            return answer.status, answer.read(MOST).decode(errors="replace").strip()
    except HTTPError as error:
        with error:
            return error.code, error.read(MOST).decode(errors="replace").strip()
