"""`python -m benchmarks`: all benchmarks in one run, as tables (Markdown) and a JSON file.

`--write-docs` puts the tables into the marked places of docs/benchmarks.md, with `--results` those of an earlier run.
"""

import argparse
import json
import logging
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botorch
import torch

import hentropy as he
from benchmarks import acquisition, beliefs, decisions, growth, level_sets, lists

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

Results = dict[str, Any]


def _acquisition(results: Results) -> str:
    lines = [
        "| one acquisition | posterior | seconds | peer's seconds | times faster | audited gain | peer's gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["acquisition"]:
        if "times_faster" in row:
            lines.append(
                f"| {row['name']} | {row['case']} | {row['seconds']:.3f} | {row['peer_seconds']:.3f} |"
                f" {row['times_faster']:.2f} | {row['gain']:.4f} | {row['peer_gain']:.4f} |"
            )
    lines += [
        "",
        "| MAP and mixture | MAP fit | mixture fit | proposal, MAP | proposal, mixture | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["acquisition"]:
        if "mixture_over_map" in row:
            lines.append(
                f"| {row['case']} | {row['map_fit']:.3f} | {row['mixture_fit']:.3f} | {row['map']:.3f} |"
                f" {row['mixture']:.3f} | {row['mixture_over_map']:.2f} |"
            )
    return "\n".join(lines)


def _level_sets(results: Results) -> str:
    lines = ["| `LevelSets`, 2 thresholds, points | seconds | peak MiB of the call |", "|---|---|---|"]
    lines += [
        f"| {row['points']} | {row['seconds']:.3f} | {row['peak_mib']['call']:.0f} |" for row in results["level_sets"]
    ]
    return "\n".join(lines)


def _growth(results: Results) -> str:
    lines = [
        "| `TopK(5)`, d = 6, n | proposal s | factorise s | MAP fit s | peak MiB of the process |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['n']} | {row['seconds']:.3f} | {row['factorise_seconds']:.3f} | {row['fit_seconds']:.2f} |"
        f" {row['peak_mib']['process']:.0f} |"
        for row in results["growth"]
    ]
    return "\n".join(lines)


PARTS: dict[str, Callable[[Results], str]] = {
    "acquisition": _acquisition,
    "decisions": lambda results: decisions.table(results["decisions"]),
    "level_sets": _level_sets,
    "growth": _growth,
    "lists": lambda results: lists.table(results["lists"], results["lists_single"], results["lists_mixed"]),
    "beliefs": lambda results: beliefs.table(results["beliefs"]),
}
"""The tables, each by the name of the section of results that it is about."""


def tables(results: Results) -> dict[str, str]:
    """The tables of all sections that have results, as Markdown."""
    return {name: part(results).strip() for name, part in PARTS.items() if results[name]}


def filled(page: str, results: Results) -> str:
    """A page with its marked places filled: what stands between the marks of a table is replaced by it.

    Where a section has no results, its place stays as it is. Beliefs have none: the page shows more draws of data.
    """
    versions = results["versions"]
    said = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "threads")
    for name, text in tables({**results, "beliefs": []}).items():
        begin, end = f"<!-- bench:{name}:begin -->", f"<!-- bench:{name}:end -->"
        if not 0 <= page.find(begin) < page.find(end):
            raise ValueError(f"the page has no place for the table {name!r}: no line {begin} above a line {end}")
        before, rest = page.split(begin, 1)
        after = rest.split(end, 1)[1]
        measured = f"Measured by `make bench`: {said}; {versions['threads']} threads."
        page = f"{before}{begin}\n{text}\n\n{measured}\n{end}{after}"
    return page


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--posteriors", type=int, default=5, help="posteriors per comparison")
    options.add_argument("--slow-posteriors", type=int, default=2, help="the same where a peer takes minutes")
    options.add_argument("--repeats", type=int, default=5, help="repetitions of each proposal")
    options.add_argument("--paper-steps", type=int, default=200, help="Adam steps of the paper's one-shot search")
    options.add_argument("--draws", type=int, default=1, help="draws of data per source for the beliefs")
    options.add_argument("--tables", type=Path, help="folder with the tables of measurements that are not shipped")
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--write-docs", action="store_true", help="fill the marked places of docs/benchmarks.md")
    options.add_argument(
        "--results", type=Path, metavar="FILE", help="a benchmarks.json of an earlier run; measure nothing"
    )
    given = options.parse_args()
    results = measured(given) if given.results is None else json.loads(given.results.read_text())
    text = "\n\n".join(tables(results).values()) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "benchmarks.md").write_text(text)
    print(text)
    print(f"written to {given.out / 'benchmarks.md'}")
    if given.write_docs:
        PAGE.write_text(filled(PAGE.read_text(), results))
        print(f"written to {PAGE}")


def measured(given: argparse.Namespace) -> Results:
    """All sections, written to benchmarks.json as they come."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    start = time.perf_counter()

    def say(what: str) -> None:
        print(f"[{time.perf_counter() - start:6.0f} s] {what}", file=sys.stderr, flush=True)

    given.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "versions": {
            "hentropy": he.__version__,
            "torch": torch.__version__,
            "botorch": botorch.__version__,
            "python": platform.python_version(),
            "threads": torch.get_num_threads(),
        },
        "acquisition": [],
        "decisions": [],
        "level_sets": [],
        "growth": [],
        "lists": [],
        "lists_single": [],
        "lists_mixed": [],
        "beliefs": [],
    }
    sections = {
        "level_sets": level_sets.run(given.repeats, say),
        "growth": growth.run(min(given.repeats, 3), say),
        "decisions": decisions.run(min(given.posteriors, 3), min(given.repeats, 3), say),
        "lists": lists.run(min(given.repeats, 3), say),
        "lists_single": lists.run_single(min(given.repeats, 3), say),
        "lists_mixed": lists.run_mixed(min(given.repeats, 3), say),
        "beliefs": beliefs.run(list(beliefs.BELIEFS), range(given.draws), given.tables),
        "acquisition": acquisition.run(given.posteriors, given.slow_posteriors, given.repeats, given.paper_steps, say),
    }
    for section, rows in sections.items():
        for row in rows:  # written as they come: the last ones take minutes
            results[section].append(row)
            (given.out / "benchmarks.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
