# Every target installs its own environment in .venv; only python3 (3.11 or later) and make are needed.
PYTHON ?= python3
BIN := .venv/bin
# An empty value lets Python write bytecode: without it every process of the tests compiles all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: reproduce test quick test-full fuzz kill mutants lint bench docs wheel lower clean

reproduce: .venv/run
	$(BIN)/tombola reproduce --out reproduction

# Side by side, because mypy uses one core only.
test: .venv/test
	$(MAKE) --no-print-directory -j 2 lint quick

# A worker that is done takes tests of the other one, also from within a file.
quick: .venv/test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not full" --durations=25

test-full: .venv/full
	$(BIN)/python -m pytest -n 2 --dist loadfile --compiled

# Nightly: damaged and random files, processes killed at random moments, mutants that named tests must detect.
fuzz: .venv/full
	TOMBOLA_SERVICE_REQUESTS=1700 $(BIN)/python -m pytest -n 2 tests/fuzz

kill: .venv/test
	$(BIN)/python -m pytest -n 2 tests/kill

mutants: .venv/test
	$(BIN)/python tools/mutants.py named

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel: .venv/test
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python .ci/smoke.py dist --python $(PYTHON)

lower: .venv/test
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python .ci/smoke.py dist --python $(PYTHON) --constraints lower.txt

bench: .venv/bench
	$(BIN)/python benchmarks/run.py

docs: .venv/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo docs/_build/html/index.html

# One pip call per environment; modules are compiled on first import, not all of them at installation.
# A recent pip first: it takes half the time of the one that comes with Python. Without it the old one is used.
PIP = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

.venv/bin/pip:
	$(PYTHON) -m venv .venv
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt --upgrade pip

.venv/run: pyproject.toml constraints.txt | .venv/bin/pip
	$(PIP) -e .
	touch $@

.venv/test: pyproject.toml constraints.txt | .venv/bin/pip
	$(PIP) -e ".[test]"
	touch .venv/run $@

.venv/full: .venv/test
	$(PIP) -e ".[full]"
	touch $@

.venv/bench: .venv/test
	$(PIP) -e ".[bench]"
	touch $@

.venv/docs: .venv/test
	$(PIP) -e ".[docs]"
	touch $@

clean:
	rm -rf .venv dist reproduction docs/_build docs/made .pytest_cache .mypy_cache .ruff_cache .hypothesis
