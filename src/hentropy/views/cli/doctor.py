"""`hentropy doctor`: what is installed here, what it runs on, and which extras are missing."""

import os
import platform
import sys
from contextlib import closing
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import Any

import typer
from packaging.requirements import Requirement

from hentropy._version import __version__
from hentropy.errors import HentropyError, NoStore
from hentropy.lazy import torch
from hentropy.studies.definition.building import DATABASE
from hentropy.studies.storage import open_store
from hentropy.views.cli.arguments import AsJson, StoreUrl
from hentropy.views.cli.opening import is_there, shown
from hentropy.views.cli.printing import console, print_json, say, table

OF_DEVELOPERS = ("test", "dev")
"""Extras that are for those who work on hentropy itself."""


def doctor(store: StoreUrl = None, json: AsJson = False) -> None:
    """Show versions, threads, GPU, the store, and which extras are missing.

    Include the output in bug reports. The exit code is 1 if a required package is missing or its version is not
    supported, or if the store cannot be opened.

    Example: hentropy doctor --store sqlite:///lab.db
    """
    there = _store(store)
    found = {
        "hentropy": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "packages": {one.name: _installed(one) for one in needed("")},
        "computing": _computing(),
        "extras": {extra: _missing(extra) for extra in extras()},
        "store": there,
    }
    wrong = _missing("") + ([there["problem"]] if there["problem"] else [])
    if json:
        print_json({**found, "problems": wrong})
    else:
        _print(found, wrong)
    if wrong:
        raise typer.Exit(1)


def _print(found: dict[str, Any], wrong: list[str]) -> None:
    rows = [[name, str(found[name])] for name in ("hentropy", "python", "system")]
    rows += [[name, which or "missing"] for name, which in found["packages"].items()]
    rows += [[name, str(value)] for name, value in found["computing"].items()]
    rows += [["store", found["store"]["said"]]]
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
    return {"said": f"{shown(place)}, {studies} {'study' if studies == 1 else 'studies'}", "problem": None}
