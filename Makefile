# `make demo` runs the main job without any key; `make test` passes the tests. Both need Python >= 3.11 and make only.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
QUIETLY := 2>$(VENV)/install.log || { cat $(VENV)/install.log >&2; exit 1; }
PEER := .cache/peer

.PHONY: demo test lint bench docs lock clean

demo: $(VENV)/.runtime
	@$(BIN)/python -m arksim_ci demo

test: $(VENV)/.dev $(PEER)/.installed
	@ARKSIM_PEER_PYTHON=$$(test -x $(PEER)/bin/arksim && echo $(CURDIR)/$(PEER)/bin/python) $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

# ArkSim and we, side by side: docs/performance.md. Options in BENCH_ARGS: "--sizes 10,50 --repeats 3", "--large", ...
bench: $(VENV)/bin/python
	@$(BIN)/python -m bench $(BENCH_ARGS)

docs: $(VENV)/.dev
	@$(BIN)/python docs/generate.py

lock: $(VENV)/.dev
	@$(PIP) uv
	@$(BIN)/uv pip compile pyproject.toml $(UV_FLAGS) -o requirements/runtime.txt
	@$(BIN)/uv pip compile pyproject.toml --all-extras $(UV_FLAGS) -o requirements/image.txt
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev $(UV_FLAGS) -o requirements/dev.txt
	@for name in build e2e lint peer; do $(BIN)/uv pip compile requirements/$$name.in $(UV_FLAGS) -o requirements/$$name.txt; done
UV_FLAGS := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --upgrade

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt | $(VENV)/bin/python
	@echo "Installing (once) ..."
	@$(PIP) --require-hashes -r requirements/runtime.txt $(QUIETLY)
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the tests need (once, about 2 minutes) ..."
	@$(PIP) --require-hashes -r requirements/dev.txt $(QUIETLY)
	@$(PIP) --no-deps --no-build-isolation --editable . $(QUIETLY)
	@touch $(VENV)/.runtime $@

# The documented tool, for the tests that compare with it. Without it those tests are skipped, and say so.
$(PEER)/.installed: requirements/peer.txt | $(VENV)/.dev
	@echo "Installing ArkSim, to compare with (once, about a minute) ..."
	@$(PYTHON) -m venv $(PEER)
	@-$(PEER)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/peer.txt 2>$(PEER)/install.log && touch $@
