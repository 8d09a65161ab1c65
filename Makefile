# Every target does its own set-up on a machine that has Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
SOURCES := pyproject.toml setup.py $(shell find src -name '*.pyx')

.DEFAULT_GOAL := help
.PHONY: help setup start test lint format unit property sim fuzz interop system bench long pages clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: $(INSTALLED) ## make the virtual environment, install the package, compile the extensions

IS_NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'

$(INSTALLED): $(SOURCES)
	@$(PYTHON) $(IS_NEW_ENOUGH) || { echo 'Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12'; exit 1; }
	@$(PY) $(IS_NEW_ENOUGH) 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@echo 'installing odradek and its tools into $(VENV), which takes about a minute'
	@$(PY) -m pip install --quiet --upgrade pip
	@$(PY) -m pip install --quiet --editable '.[dev,bench]'
	@touch $@

start: setup ## run a broker on 127.0.0.1:9092 (ARGS='--listen HOST:PORT ...' for more)
	@$(VENV)/bin/odradek start $(ARGS)

test: setup ## run every stage that CI runs, with its time budget
	$(PY) tools/stages.py

lint: setup ## format and lint, types, import layers, generated pages
	$(PY) tools/stages.py lint

format: setup ## format the code and rewrite the generated pages
	$(VENV)/bin/ruff format
	$(VENV)/bin/ruff check --fix
	$(MAKE) pages

pages: setup ## rewrite the generated pages
	$(PY) tools/pages.py

unit: setup ## unit tests and golden bytes
	$(PY) tools/stages.py unit

property: setup ## property tests
	$(PY) tools/stages.py property

sim: setup ## whole programs in simulation: one thread, simulated time, faults from a seed
	$(PY) tools/stages.py sim

interop: setup ## real clients and Kafka's own tools against our broker, our files and our records
	$(PY) tools/stages.py interop

system: setup ## installs from a clean checkout, with and without a compiler
	$(PY) tools/stages.py system

fuzz: setup ## fuzz every decoder for HOURS hours (default 1)
	$(PY) tools/stages.py fuzz --hours $(or $(HOURS),1)

bench: setup ## speed beside other clients, in the same run
	$(PY) -m bench

long: setup ## what is too long for CI: many more examples, an hour of fuzzing, the suites in ODRADEK_SUITES
	$(PY) tools/stages.py --long

clean: ## remove what the other targets made
	rm -rf .venv .venv-3.* build dist fuzz-corpus fuzz-requests src/*.egg-info src/odradek/native_build.txt
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -delete -o -name '_*.c' -delete
