# Everything from a bare clone: needs Python 3.11 to 3.13 with venv and pip, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: test demo bench format clean postgres chromium

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	touch $(STAMP)

# The tests of storage want PostgreSQL's server programs; where they cannot be had, those tests say so and are skipped.
postgres:
	@sh tests/support/install_postgres.sh

# The tests of the page want a browser; likewise.
chromium:
	@sh tests/support/install_chromium.sh

test: $(STAMP) postgres chromium
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

demo: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python examples/demo.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
