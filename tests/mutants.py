"""Does the suite notice wrong code? Each mutant is applied in a copy of the project, and a named test must fail.

    python tests/mutants.py            all of them, as `make test-all` does
    python tests/mutants.py clock      those whose name has the word

The text of a mutant that is no longer there has to be brought up to date here: it says what must not be lost.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "experiments", "benchmarks", "docs", "examples", "README.md", "pyproject.toml")
CORE = "src/hentropy/core"
PASSED, FAILED = 0, 1
"""What pytest answers: other numbers are errors of the run itself."""


@dataclass(frozen=True)
class Mutant:
    """In a file, `before` becomes `after`; some of the tests (file, and words as for -k) have to fail."""

    name: str
    file: str
    before: str
    after: str
    tests: str
    words: str = ""

    def apply(self, root: Path) -> str:
        """Change the file in a copy, and return what it was."""
        path = root / self.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text.count(self.before) != 1:
            raise LookupError(f"{self.file} has {text.count(self.before)} places with {self.before!r}")
        path.write_text(text.replace(self.before, self.after), encoding="utf-8")
        return text


MUTANTS = (
    Mutant(
        "memory bound ignored",
        f"{CORE}/clock.py",
        "min(self.max_memory or DEFAULT_MEMORY, DEFAULT_MEMORY)",
        "DEFAULT_MEMORY",
        "tests/test_bounded_work.py",
        "largest",
    ),
    Mutant(
        "clock ignored by descent of signs",
        f"{CORE}/action_search/descent.py",
        "        if clock.expired:\n            break\n        value, gradient = value_and_gradient(loss, u)",
        "        value, gradient = value_and_gradient(loss, u)",
        "tests/test_bounded_work.py",
        "ends",
    ),
    Mutant(
        "clock ignored by quasi-Newton steps",
        f"{CORE}/action_search/descent.py",
        "        if clock.expired:\n            break\n        new =",
        "        new =",
        "tests/test_bounded_work.py",
        "ends",
    ),
    Mutant(
        "clock ignored by random steps",
        f"{CORE}/solvers/ascent.py",
        "        if appraisal.clock.expired:\n            break\n        moved =",
        "        moved =",
        "tests/test_bounded_work.py",
        "ends",
    ),
    Mutant(
        "clock ignored by screening",
        f"{CORE}/gain.py",
        "if start > 0 and self.clock.expired:",
        "if False:",
        "tests/test_bounded_work.py",
        "ends",
    ),
    Mutant(
        "standard error of a gain without the root of R",
        f"{CORE}/gain.py",
        "values.std(-1) / R**0.5",
        "values.std(-1)",
        "tests/test_stated_errors.py",
        "other_seeds and list",
    ),
    Mutant(
        "standard error of an entropy without the root of R",
        f"{CORE}/entropy.py",
        "float(estimates.std()) / len(estimates) ** 0.5",
        "float(estimates.std())",
        "tests/test_stated_errors.py",
        "entropies",
    ),
    Mutant(
        "what a search still found is left out of the error",
        f"{CORE}/gain.py",
        "error = torch.hypot(error, (late * weights).sum(-1))",
        "pass",
        "tests/test_stated_errors.py",
        "misses",
    ),
    Mutant(
        "one replicate",
        f"{CORE}/gain.py",
        "return range(seed * MOST_REPLICATES, seed * MOST_REPLICATES + replicates)",
        "return range(seed * MOST_REPLICATES, seed * MOST_REPLICATES + 1)",
        "tests/test_stated_errors.py",
        "other_seeds and list",
    ),
    Mutant(
        "replicates of one seed",
        f"{CORE}/gain.py",
        "return range(seed * MOST_REPLICATES, seed * MOST_REPLICATES + replicates)",
        "return [seed * MOST_REPLICATES] * replicates",
        "tests/test_stated_errors.py",
        "other_seeds and list",
    ),
    Mutant(
        "one replicate of an audit by default",
        f"{CORE}/gain.py",
        "    replicates: int = 8\n",
        "    replicates: int = 1\n",
        "tests/test_stated_errors.py",
        "other_seeds and list",
    ),
    Mutant(
        "one replicate of the audit of a proposal",
        f"{CORE}/gain.py",
        "QUICK = Effort(replicates=4",
        "QUICK = Effort(replicates=1",
        "tests/test_solvers.py",
        "dense_grid and maximize",
    ),
    Mutant(
        "outlook of other outcomes",
        f"{CORE}/solvers/propose.py",
        "(0.05, 0.5, 0.95)",
        "(0.3, 0.5, 0.7)",
        "tests/test_solvers.py",
        "outlook",
    ),
    Mutant(
        "finalists compared after the time is up",
        f"{CORE}/solvers/propose.py",
        "    if not finalists.complete:\n        x = x[:1]\n",
        "",
        "tests/test_solvers.py",
        "finalists",
    ),
    Mutant(
        "first designs and queries of the paper's task",
        "experiments/methods.py",
        'Task("alpine-2-top-5", 10, 40,',
        'Task("alpine-2-top-5", 5, 20,',
        "tests/test_experiments.py",
        "settings",
    ),
    Mutant(
        "searched gains a tenth too small",
        f"{CORE}/action_search/base.py",
        "return self.stay - self.loss",
        "return 0.9 * (self.stay - self.loss)",
        "tests/test_stated_errors.py",
        "few_per_cent",
    ),
    Mutant(
        "searched gains a tenth too large",
        f"{CORE}/action_search/base.py",
        "return self.stay - self.loss",
        "return 1.1 * (self.stay - self.loss)",
        "tests/test_stated_errors.py",
        "few_per_cent",
    ),
)


def copy_of_project(folder: Path) -> Path:
    """What tests need of the project, in a folder."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, folder / name)
    return folder


def run_tests(root: Path, tests: str, words: str) -> int:
    """What pytest answers in a copy, in one thread."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", tests, *(["-k", words] if words else [])]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False).returncode


def judge(mutant: Mutant, root: Path) -> str:
    """What became of a mutant in a copy: "noticed" if a test failed."""
    try:
        before = mutant.apply(root)
    except LookupError as error:
        return f"out of date: {error}"
    answer = run_tests(root, mutant.tests, mutant.words)
    (root / mutant.file).write_text(before, encoding="utf-8")
    return {FAILED: "noticed", PASSED: "SURVIVES"}.get(answer, f"pytest ended with {answer}")


def main(words: Iterable[str]) -> int:
    """Try the mutants whose names have all words: how many were not noticed."""
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.name for word in words)]
    suites = list(dict.fromkeys((mutant.tests, mutant.words) for mutant in chosen))
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as threads:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            free.put(copy_of_project(Path(folder) / str(number)))

        def in_a_copy(work: Callable[[Path], T]) -> "Future[T]":
            def run() -> T:
                root = free.get()
                try:
                    return work(root)
                finally:
                    free.put(root)

            return threads.submit(run)

        sound = {suite: in_a_copy(partial(run_tests, tests=suite[0], words=suite[1])) for suite in suites}
        judged = [in_a_copy(partial(judge, mutant)) for mutant in chosen]
        missed = 0
        for mutant, answer in zip(chosen, judged, strict=True):
            passes = sound[mutant.tests, mutant.words].result() == PASSED
            became = answer.result() if passes else "its tests do not pass without it"
            missed += became != "noticed"
            print(f"{became:10} {mutant.name}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mutants noticed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
