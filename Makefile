# Every target builds its own virtual environment from nothing; PYTHON names the interpreter to start from (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One BLAS thread a process: the matrices are banded and small, and threads that wait for each other cost more than they give.
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test check bench paper clean

demo: $(VENV)/.core
	$(BIN)/python examples/rivals.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# All figures and tables, about twenty minutes on two cores; finished cells are kept, so it can be interrupted.
paper: $(VENV)/.dev
	$(BIN)/python -m leastnoise.paper all --out paper

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check,oracles,paper,dask,interop,tables,tables-test,spark,postgres]'
	touch $@
