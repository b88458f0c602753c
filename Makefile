# Every target builds its own virtual environment from nothing; PYTHON names the interpreter to start from (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One BLAS thread a process: the matrices are banded and small, and threads that wait for each other cost more than they give.
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo pictures docs test long portable lock house lint check bench mutants paper clean
.DELETE_ON_ERROR:

# The tests of what a guarantee rests on keep in .coverage what they ran through of the packages named in pyproject.toml. To
# watch takes half as long again, so the others are not watched.
WATCHED := tests/proof tests/floors tests/lattice tests/laws tests/accountant tests/sampling tests/files tests/ledger tests/releases tests/series tests/interop
COVERED := --cov --cov-report= $(WATCHED)

# Designs noise, releases ten means of two tables, writes reports and pictures to out/demo.
demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py out/demo

# The pictures of the README.
pictures: $(VENV)/.demo
	$(BIN)/python -m leastnoise.plots docs/images

# The documentation as HTML in out/docs; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs out/docs

# Every test; what they ran through is kept in .coverage for `make check`.
test: $(VENV)/.dev
	bash tests/system-packages.sh
	$(BIN)/python -m pytest -n 2 $(COVERED)
	$(BIN)/python -m pytest -n 2 $(WATCHED:%=--ignore=%)

# What `make test` does less often: hundreds of neighbouring tables on every engine, hundreds of kills.
long: $(VENV)/.dev
	bash tests/system-packages.sh
	$(BIN)/python -m pytest -n 2 -m long

# The tests of numbers again, as other processors compute.
portable: $(VENV)/.dev
	$(BIN)/python tests/processors.py

# Writes down the versions that the tests passed with.
lock: $(VENV)/.dev
	$(BIN)/python requirements/freeze.py

# How the source reads, in numbers.
house: $(VENV)/.dev
	$(BIN)/python -m benchmarks house

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

# Lint, formatting, types and coverage. The tests run only if something has changed since they last did.
check: lint .coverage
	$(BIN)/python tests/covered.py

.coverage: $(VENV)/.dev $(shell find src tests -name '*.py')
	bash tests/system-packages.sh
	$(BIN)/python -m pytest -n 2 $(COVERED)

# Whether a test notices when the code a guarantee rests on is wrong: half an hour of tests against wrong versions of it.
mutants: $(VENV)/.dev
	$(BIN)/python -m benchmarks mutants

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# All figures and tables, about twenty minutes on two cores; finished cells are kept, so it can be interrupted.
paper: $(VENV)/.dev
	$(BIN)/python -m leastnoise.reproduction all --out paper

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

# The extra `paper` brings matplotlib and the demo's data.
$(VENV)/.demo: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[tables,paper]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check,oracles,paper,dask,interop,tables,tables-test,spark,postgres,docs,web-test,encrypted,proof]'
	touch $@
