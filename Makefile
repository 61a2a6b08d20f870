# Every target does its own set-up in .venv; only python3 (3.11 or later) and make are needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: reproduce test test-full lint bench docs wheel lower clean

reproduce: .venv/run
	$(BIN)/tombola reproduce --out reproduction

test: lint
	$(BIN)/python -m pytest -n 2 -m "not full"

test-full: .venv/test
	$(BIN)/python -m pytest -n 2

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
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo docs/_build/index.html

.venv/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/test: .venv/run
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@

.venv/bench: .venv/test
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	touch $@

.venv/docs: .venv/test
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

clean:
	rm -rf .venv dist reproduction docs/_build docs/made .pytest_cache .mypy_cache .ruff_cache .hypothesis
