# Every target does its own set-up on a machine that has Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
SPARK_VENV := .venv-spark
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
SOURCES := pyproject.toml setup.py $(shell find src -name '*.pyx')

.DEFAULT_GOAL := help
.PHONY: help setup start test lint format unit property sim fuzz interop spark demo system bench wheel long mutants pages clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: $(TOOLS) ## make the virtual environment with the package, its compiled extensions and the tools of developers

IS_NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PIP_INSTALL = $(PY) -m pip --disable-pip-version-check install --quiet --editable

$(VENV)/bin/python:
	@$(PYTHON) $(IS_NEW_ENOUGH) || { echo 'Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12'; exit 1; }
	@echo 'making a virtual environment in $(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)

# What running needs, and nothing else: the broker, its two libraries, the compiled extensions.
$(RUNTIME): $(SOURCES) | $(PY)
	@echo 'installing odradek and compiling its extensions: half a minute on two idle cores, longer on a busy machine'
	@$(PIP_INSTALL) .
	@touch $@

# The same with the tools of tests and benchmarks.
$(TOOLS): $(SOURCES) | $(PY)
	@echo 'installing odradek and the tools of developers: about a minute on two idle cores, longer on a busy machine'
	@$(PIP_INSTALL) '.[dev,bench]'
	@touch $(RUNTIME) $@

start: $(RUNTIME) ## run a broker on 127.0.0.1:9092 (ARGS='--listen HOST:PORT ...' for more)
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

spark: setup ## reading and writing topics from Spark, in a virtual environment of its own (needs Java 17 or newer)
	$(PY) tools/stages.py spark

# Java is looked for before half a gigabyte is fetched; src comes first, since the stage `spark` installs a copy of it.
demo: export PYTHONPATH := src
demo: $(SPARK_VENV)/bin/python ## a broker, a stream, a pipeline in Spark, a picture, a check to the row (ARGS='--dir DIR')
	@$< examples/demo/demo_java.py
	@$(MAKE) --no-print-directory $(SPARK_VENV)/.demo
	@$< examples/demo $(ARGS)

$(SPARK_VENV)/bin/python:
	@$(PYTHON) $(IS_NEW_ENOUGH) || { echo 'Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12'; exit 1; }
	@echo 'making a virtual environment in $(SPARK_VENV)'
	@$(PYTHON) -m venv --clear $(SPARK_VENV)

# Most of what is installed is never imported: it is not compiled ahead.
$(SPARK_VENV)/.demo: $(SOURCES) | $(SPARK_VENV)/bin/python
	@echo 'installing odradek, Spark and matplotlib: about a minute on two idle cores'
	@while sleep 2 && kill -0 $$$$; do printf .; done 2>/dev/null & dots=$$!; trap 'kill $$dots; echo' EXIT; \
	$(SPARK_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --editable '.[spark,demo]'
	@touch $@

system: setup ## installs from a clean checkout, with and without a compiler
	$(PY) tools/stages.py system

fuzz: setup ## fuzz every decoder for HOURS hours (default 1)
	$(PY) tools/stages.py fuzz --hours $(or $(HOURS),1)

bench: setup ## speed beside other clients, in the same run
	$(PY) -m bench

wheel: setup ## a wheel with the compiled extensions and a source distribution, in dist/
	$(PY) -m build --outdir dist

long: setup ## what is too long for CI: many more examples, an hour of fuzzing, the suites in ODRADEK_SUITES
	$(PY) tools/stages.py --long

mutants: setup ## which small mistakes in the source no test notices (ARGS='--sample 60 --paths src/odradek/config')
	$(PY) tools/mutants.py $(ARGS)

clean: ## remove what the other targets made
	rm -rf .venv .venv-3.* .venv-spark build dist fuzz-corpus fuzz-requests src/*.egg-info src/odradek/native_build.txt
	rm -rf .mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -delete -o -name '_*.c' -delete
