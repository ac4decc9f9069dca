# The verbs of this project; `make help` lists them.
PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
DEMO := configs/demo/cps1988.yaml
PEER_OPTION = $(if $(PEER),--peer $(PEER))
OTHERS_OPTION = $(if $(OTHERS),--others $(OTHERS))
ADULT_OPTION = $(if $(ADULT),--adult $(ADULT))
# Each process of the tests takes whole files in the order they stand in; WORKERS=0 runs all in one.
WORKERS ?= 2
SHARED_OUT := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Counting lines makes Python half as slow again. Those of these folders are counted only where the others do not reach
# the figure that pyproject.toml asks for. Their longest files come first, so that both processes end together.
UNCOUNTED := tests/faults tests/contract tests/statistical tests/flow
COUNTED := --cov --cov-report= --cov-fail-under=0
# An editable install compiles nothing, and where PYTHONDONTWRITEBYTECODE is set every command would compile 550 files anew.
COMPILE := $(BIN)/python -m compileall -q trasgo_lib tasks flows
export TRASGO_HOME := $(CURDIR)/.trasgo

.DEFAULT_GOAL := help
.PHONY: help install release test counted test-long bench lint style types format lock clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: .venv/.installed ## install everything from the lock into .venv

.venv/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	$(BIN)/python -m pip check
	$(COMPILE)
	touch $@

release: install ## release the demonstration data: key, account, run
	@$(BIN)/trasgo key init --if-absent
	@$(BIN)/trasgo ledger open $(DEMO) --epsilon 16 --population "men aged 18 to 70 in the March 1988 CPS extract" --if-absent
	@$(BIN)/trasgo run $(DEMO)

# as the command does: processes side by side would only wait for each other's threads
test counted test-long: export OPENBLAS_NUM_THREADS := 1
# what one process of the tests has compiled the others need not
test counted test-long: export PYTHONDONTWRITEBYTECODE :=

test: install style ## the standard tier: lint, types, structure, tests, coverage
	$(COMPILE)
	$(BIN)/python -m coverage erase
	$(MAKE) --no-print-directory --jobs=2 types counted
	$(BIN)/python -m pytest -m "not long" $(SHARED_OUT) $(UNCOUNTED) $(PYTEST_ARGS) \
	  $$($(BIN)/python -m coverage report >/dev/null || echo $(COUNTED) --cov-append)
	$(BIN)/python -m coverage report

counted: install
	$(BIN)/python -m pytest -m "not long" $(SHARED_OUT) $(UNCOUNTED:%=--ignore=%) $(COUNTED) $(PYTEST_ARGS)

test-long: install ## everything that takes minutes
	$(BIN)/python -m pytest -m long $(SHARED_OUT) $(PYTEST_ARGS)

bench: install ## the quick benchmarks, into tests/benchmarks/RESULTS.md; PEER=python-with-trasgodp, OTHERS=python-with-diffprivlib-and-opendp, ADULT=csv
	$(BIN)/python tests/benchmarks/mechanisms.py
	$(BIN)/python tests/benchmarks/gaussian.py
	$(BIN)/python tests/benchmarks/correlation_kept.py $(PEER_OPTION)
	$(BIN)/python tests/benchmarks/groups.py $(ADULT_OPTION)
	$(BIN)/python tests/benchmarks/spend.py $(ADULT_OPTION)
	$(BIN)/python tests/benchmarks/peers.py --short $(PEER_OPTION) $(OTHERS_OPTION)

lint: style types ## ruff, mypy, import-linter

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Without its cache mypy takes a minute and a half of one core: `make test` lets the first tests run beside it.
types: install
	$(BIN)/mypy

format: install ## rewrite files as ruff likes them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## resolve the lock anew (needs uv on the path)
	uv pip compile --python-version 3.11 --extra test --generate-hashes --no-header --no-annotate --quiet pyproject.toml --output-file requirements.lock

clean: ## remove the environment and the demonstration's state; never touches an office's ledger
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache build *.egg-info
