# Everything from a bare clone: needs Python 3.11 to 3.13 with venv and pip, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: test test-all check smoke lint demo docs bench release-check format clean postgres chromium

# The tests start a hundred processes: each would compile all modules again if compiled ones were not kept.
unexport PYTHONDONTWRITEBYTECODE

# pip compiles on one core, and what it has installed is compiled on all of them; a few files are no Python of today.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) --editable '.[test]'
	$(BIN)/python -m compileall -qq --workers 0 $(VENV)/lib || true
	touch $(STAMP)

# The tests of storage want PostgreSQL's server programs; where they cannot be had, those tests say so and are skipped.
postgres:
	@sh tests/support/install_postgres.sh

# The tests of the page want a browser; likewise.
chromium:
	@sh tests/support/install_chromium.sh

# One thread each; many tests wait for other processes, so more of them than cores keep the cores busy. Memory that is
# freed stays with its process: to get it from the kernel again for each tensor took a tenth of the time.
PYTEST := OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=536870912 $(BIN)/python -m pytest \
	--dist worksteal --durations 25 --durations-min 1
WORKERS ?= $(shell $(PYTHON) -c 'import os; n = len(os.sched_getaffinity(0)); print(n + min(n, 4) // 2)')
marked = $(shell grep --files-with-matches 'mark.$(1)' tests/test_*.py)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# While you think: a minute on two idle cores. What makes it longer has to leave, or something else.
check: $(STAMP)
	$(MAKE) --jobs 2 --output-sync lint smoke

smoke: $(STAMP)
	$(PYTEST) --numprocesses auto -m 'smoke and not (slow or nightly)' $(call marked,smoke)

# Before a change is handed on: every behaviour once, 13 minutes on two idle cores.
test: postgres chromium
	$(MAKE) --jobs 2 --output-sync lint rounding-COMPATIBLE
	$(PYTEST) --numprocesses $(WORKERS)

# What is sensitive to rounding, as other CPUs round: a setting of MKL stands in for them.
rounding-%: $(STAMP)
	MKL_CBWR=$* $(PYTEST) -m 'numerics and not (slow or nightly)' $(call marked,numerics)

# Each night and before a release: all cases of all tables, all documents and examples, long runs, and wrong code.
test-all: postgres chromium
	$(MAKE) --jobs 3 --output-sync lint all-rounding-COMPATIBLE all-rounding-AVX2
	$(PYTEST) -m '' --numprocesses $(WORKERS)
	$(BIN)/python tests/mutants.py

all-rounding-%: $(STAMP)
	MKL_CBWR=$* $(PYTEST) -m numerics $(call marked,numerics)

demo: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python examples/demo.py

# What would be released: wheel and sdist, installed in a bare environment. For other Pythons: PYTHON=python3.13.
RELEASE := .venv-release
INTO_RELEASE := $(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
release-check: $(STAMP)
	rm -rf dist $(RELEASE)
	$(PIP) build
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(RELEASE)
	$(INTO_RELEASE) torch
	$(INTO_RELEASE) "$$(ls $$PWD/dist/*.whl)[cli]"
	cd / && $(CURDIR)/$(RELEASE)/bin/python $(CURDIR)/tests/support/smoke.py
	$(INTO_RELEASE) --no-deps --force-reinstall dist/*.tar.gz
	cd / && $(CURDIR)/$(RELEASE)/bin/python $(CURDIR)/tests/support/smoke.py

# The site, in out/docs: its code cells are run, warnings are errors, and no page needs the network.
DOCS := $(VENV)/.docs-installed
$(DOCS): $(STAMP)
	$(PIP) --editable '.[docs]'
	touch $(DOCS)

docs: $(DOCS)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs out/docs
	$(BIN)/python -m docs.extensions.built_pages out/docs

bench: $(STAMP)
	$(BIN)/python -m benchmarks --write-docs

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(RELEASE) dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
