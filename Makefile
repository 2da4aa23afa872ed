# Every command sets up what it needs: a fresh machine needs Python 3.11 to 3.13, make and a package index.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
# What is installed: the package itself, and what an extra of pyproject.toml adds to it for some commands.
READY := .venv/.ready
READY_TEST := .venv/.ready-test
READY_VIZ := .venv/.ready-viz
READY_DOCS := .venv/.ready-docs
READY_RELEASE := .venv/.ready-release
READY_MUTATION := .venv/.ready-mutation
# Modules are compiled when they are first imported, since most of them never are.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# uv takes a third of pip's time, but does not read pip's settings.
UV := $(shell command -v uv)
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt,$(PIP))
# Pipelines of the website that viz-site writes.
PICTURES ?= __default__,dream,study_duma_table7,results
# A process a core, each with one thread.
AT_ONCE := -n auto --dist worksteal
export PYTHONWARNINGS ?= ignore
# Commands, workers and tests are processes that import the same: what the first compiled is kept for the others, though
# the environment may say otherwise.
export PYTHONDONTWRITEBYTECODE :=
export TOKENIZERS_PARALLELISM ?= true

.DEFAULT_GOAL := help
.PHONY: help run test test-full test-long test-python test-newest-kedro golden coverage mutation lint format pipelines \
	readers studies viz viz-site pictures mlflow demo bench docs lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e .
	touch $@

.venv/.ready-%: $(READY)
	$(INSTALL) -e ".[$*]"
	touch $@

run: $(READY) ## Set up, then the main job: the sample from raw text to a comparison of readers
	$(BIN)/kedro run

# Tests show the warnings that commands keep from their users.
test test-full test-long test-python test-newest-kedro coverage: export PYTHONWARNINGS :=

test: $(READY_TEST) ## Set up, then the tests (five minutes on two cores)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not long" $(AT_ONCE)

test-full: $(READY_TEST) ## These, and every study, combination of parts, kill, browser and whole benchmark (25 minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not long" --hypothesis-profile many $(AT_ONCE)

test-long: $(READY_TEST) ## The tests that train or measure for minutes, such as whether the sample is learned
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m long $(AT_ONCE)

# An environment of its own without torch, whose wheels take gigabytes: all other packages are those that are pinned.
OTHER_PYTHON = .venv/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
TORCH_FREE := tests/config tests/data tests/evaluation tests/io tests/parallel tests/reports tests/studies tests/text
test-python: ## The tests of what needs no torch, with another Python: PYTHON=python3.12
	test -x $(OTHER_PYTHON)/bin/python || $(PYTHON) -m venv $(OTHER_PYTHON)
	grep -vE '^(torch|accelerate)==' constraints.txt > $(OTHER_PYTHON)/pinned.txt
	$(OTHER_PYTHON)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		-r $(OTHER_PYTHON)/pinned.txt -e .
	$(OTHER_PYTHON)/bin/python --version
	OMP_NUM_THREADS=1 $(OTHER_PYTHON)/bin/python -m pytest -m "not slow and not long" $(AT_ONCE) $(TORCH_FREE)

golden: $(READY_TEST) ## Record anew the losses that the first steps of four readers are compared with
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/training/test_golden_curves.py --write-golden

# The newest version lies in a folder in front of the pinned one.
test-newest-kedro: $(READY_TEST) ## The tests of commands and pipelines with the newest Kedro of the package index
	rm -rf .venv/newest-kedro
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/newest-kedro kedro
	if [ -d .venv/newest-kedro/kedro-$$($(BIN)/python -c 'import kedro; print(kedro.__version__)').dist-info ]; then \
		echo "This is the version that all tests run with."; \
	else \
		PYTHONPATH=.venv/newest-kedro OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not long" \
			$(AT_ONCE) tests/pipelines tests/config tests/tracking tests/test_*.py; \
	fi

coverage: $(READY_TEST) ## The tests, and which lines they reach
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not long" $(AT_ONCE) --cov --cov-report=term:skip-covered

mutation: $(READY_MUTATION) ## Change what aligns and scores in every way that mutmut knows: do the tests notice? (an hour)
	TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1 $(BIN)/mutmut run

lint: $(READY_TEST) ## Check style, formatting, the direction of imports, types, and the pages' scripts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings src/coattend

format: $(READY_TEST) ## Mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pipelines: $(READY) ## List what can be run, with a sentence each
	$(BIN)/kedro menu pipelines

readers: $(READY) ## List the readers, with what they answer by
	$(BIN)/kedro menu readers

studies: $(READY) ## List the studies, with what they train and what that costs
	$(BIN)/kedro menu studies

viz: $(READY_VIZ) ## Look at the pipelines in a browser, the sample first: http://127.0.0.1:4141 (PORT=...)
	$(if $(PORT),PORT=$(PORT)) $(BIN)/python -m docs._tools.servers

viz-site: $(READY_VIZ) ## Write a website of some pipelines to build/ (PICTURES=__default__,dream,...)
	rm -rf build/api
	COATTEND_PICTURES=$(PICTURES) $(BIN)/kedro viz build --include-previews

pictures: $(READY_VIZ) ## Take the documentation's pictures of a finished run of the sample (needs Chromium)
	$(BIN)/python -m docs._tools.pictures

mlflow: $(READY) ## Look at the tracked runs: http://127.0.0.1:5000 (PORT=...)
	$(BIN)/python -m coattend.tracking $(if $(PORT),--port $(PORT))

demo: $(READY) ## Ask a trained reader in a browser: http://127.0.0.1:8000 (MODEL=..., PORT=..., DEMO_HOST=...)
	$(BIN)/python -m coattend.serving $(if $(MODEL),--model "$(MODEL)") $(if $(PORT),--port $(PORT)) \
		$(if $(DEMO_HOST),--host $(DEMO_HOST))

bench: $(READY) ## Measure speed and memory, each beside a peer
	$(BIN)/python -m perf

# Not --quiet: it would hide the warnings that --strict looks for.
docs: $(READY_DOCS) ## Write the documentation as a website: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lock: $(READY_RELEASE) ## Write the pinned packages with their hashes to requirements.lock
	$(BIN)/uv pip compile pyproject.toml --quiet --all-extras --constraint constraints.txt --universal \
		--python-version 3.11.5 --generate-hashes --no-header --no-annotate --output-file requirements.lock

clean: ## Remove tables, trained readers and pages, but neither the raw data nor the tracked runs
	rm -rf data/0[2-8]_*/* data/quick data/paper data/small data/test
