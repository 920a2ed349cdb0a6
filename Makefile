# `make solve` and `make test` need only make and Python 3.11 or newer; everything else goes into .venv.
# A Python under another name: make solve PYTHON=/path/to/python3.12
# Arguments:                   make solve WORKLOAD=workloads/mine.yaml ARGS="--json plan.json"
#                              make test ARGS="-k floor -x"

PYTHON ?= $(shell for name in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python; do \
	if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$name"; exit; fi; \
	done; echo python3)
WORKLOAD ?= workloads/customer.yaml
DIST ?= dist
ARGS ?=

BIN := .venv/bin
RUNS := .venv/runs
DEVELOPS := .venv/develops

# Constraints also hold for what the package is built with; older and newer pip read different variables.
PIP_INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/python -m pip install --quiet

.DEFAULT_GOAL := help
.PHONY: help solve test lint format types docs readme samples wheel clean

help:
	@echo "make solve    set up .venv and plan $(WORKLOAD)"
	@echo "make test     set up .venv with the tools and run the tests"
	@echo "make lint     ruff: rules and format"
	@echo "make format   ruff: apply both"
	@echo "make types    mypy, strict"
	@echo "make docs     write docs/commands.md from --help"
	@echo "make readme   fill README.md from real runs of workloads/customer.yaml (minutes)"
	@echo "make samples  write reports/sample/ from a real run of workloads/customer.yaml"
	@echo "make wheel    build the wheel into $(DIST)/"
	@echo "make clean    remove .venv and what was built"

solve: $(RUNS)
	$(BIN)/sizing solve $(WORKLOAD) $(ARGS)

test: $(DEVELOPS)
	$(BIN)/python -m pytest -n auto $(ARGS)

lint: $(DEVELOPS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEVELOPS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEVELOPS)
	$(BIN)/mypy

docs: $(DEVELOPS)
	$(BIN)/python -m docs.generate_commands

readme: $(DEVELOPS)
	$(BIN)/python -m docs.generate_readme

samples: $(DEVELOPS)
	$(BIN)/sizing solve workloads/customer.yaml --out reports/sample --force \
		--format xlsx --format html --format csv --format json --format markdown > /dev/null

wheel: $(RUNS)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/python -m pip wheel --quiet --no-deps -w "$(DIST)" .

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Made anew whenever a version or a dependency changes, so that nothing older stays behind.
$(RUNS): pyproject.toml constraints.txt $(BIN)/python
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "sizing needs Python 3.11 or newer. $(PYTHON): $$("$(PYTHON)" --version 2>&1 || true)" >&2; \
		echo "Name one that is new enough: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "Setting up .venv with $$("$(PYTHON)" --version 2>&1), once" >&2
	@"$(PYTHON)" -m venv --clear .venv || { \
		echo "$(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: python3-venv)" >&2; exit 2; }
	@$(PIP_INSTALL) --upgrade pip
	@$(PIP_INSTALL) --editable .
	@touch $@

$(DEVELOPS): $(RUNS)
	@echo "Adding the tools for tests, lint and types, once" >&2
	@$(PIP_INSTALL) --group dev
	@touch $@

# An empty recipe: where this is missing (or points to a Python that is gone), the environment is made anew.
$(BIN)/python: ;
