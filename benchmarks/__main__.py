"""`python -m benchmarks`: all benchmarks in one run, as a table (Markdown) and a JSON file."""

import argparse
import json
import logging
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import botorch
import torch

import hentropy as he
from benchmarks import acquisition, beliefs, decisions, growth, level_sets, lists


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """The results as Markdown."""
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
    lines += ["", *decisions.table(results["decisions"]).splitlines()]
    lines += ["", "| `LevelSets`, 2 thresholds, points | seconds | peak MiB of the call |", "|---|---|---|"]
    lines += [
        f"| {row['points']} | {row['seconds']:.3f} | {row['peak_mib']['call']:.0f} |" for row in results["level_sets"]
    ]
    lines += [
        "",
        "| `TopK(5)`, d = 6, n | proposal s | factorise s | MAP fit s | peak MiB of the process |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['n']} | {row['seconds']:.3f} | {row['factorise_seconds']:.3f} | {row['fit_seconds']:.2f} |"
        f" {row['peak_mib']['process']:.0f} |"
        for row in results["growth"]
    ]
    listed = lists.table(results["lists"], results["lists_single"], results["lists_mixed"])
    return "\n".join(lines) + "\n\n" + listed + "\n\n" + beliefs.table(results["beliefs"])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--posteriors", type=int, default=5, help="posteriors per comparison")
    options.add_argument("--slow-posteriors", type=int, default=2, help="the same where a peer takes minutes")
    options.add_argument("--repeats", type=int, default=5, help="repetitions of each proposal")
    options.add_argument("--paper-steps", type=int, default=200, help="Adam steps of the paper's one-shot search")
    options.add_argument("--draws", type=int, default=1, help="draws of data per source for the beliefs")
    options.add_argument("--tables", type=Path, help="folder with the tables of measurements that are not shipped")
    options.add_argument("--out", type=Path, default=Path("out"))
    given = options.parse_args()
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
    text = table(results)
    (given.out / "benchmarks.md").write_text(text)
    print(text)
    print(f"written to {given.out / 'benchmarks.md'} and {given.out / 'benchmarks.json'}")


if __name__ == "__main__":
    main()
