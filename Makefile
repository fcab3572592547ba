# Everything from a bare clone: needs Python 3.11 to 3.13 with venv and pip, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: test check lint demo bench format clean postgres chromium

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

# One thread each; many tests wait for other processes, so more of them than cores keep the cores busy.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --dist worksteal
NUMERICS = $(shell grep --files-with-matches 'mark.numerics' tests/test_*.py)
CORE = $(shell grep --files-with-matches 'mark.core' tests/test_*.py)
WORKERS ?= $(shell $(PYTHON) -c 'import os; n = len(os.sched_getaffinity(0)); print(n + min(n, 4) // 2)')

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: postgres chromium
	$(MAKE) --jobs 3 --output-sync lint numerics-COMPATIBLE numerics-AVX2
	$(PYTEST) --numprocesses $(WORKERS)

# What is sensitive to rounding, as other CPUs round: settings of MKL stand in for them.
numerics-%: $(STAMP)
	MKL_CBWR=$* $(PYTEST) -m numerics $(NUMERICS)

# The daily loop: under 90 s on two cores.
check: lint
	$(PYTEST) --numprocesses auto -m 'numerics or core' $(NUMERICS) $(CORE)

demo: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python examples/demo.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
