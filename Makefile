# make reproduce   the paper's experiments and a verdict on every claim, from an empty machine: reproduction/report.html
# make test        everything that must hold, from an empty machine: environment, lint, types, import rules, tests
# make postgresql  the database server that some tests start; make test installs it where it can
# make check       while working: lint, types, import rules, the quick tests, in less than a minute
# make torture     live bandits, services and servers killed, interrupted, without room (an hour); make test has a sample
# make bench       measurements, written to benchmarks/*.md (hours; the longest part goes on where it was stopped)
# make picture     docs/architecture.svg, drawn anew
# make release-check   sdist and wheel built, each installed into an empty environment, the README's examples run there
# make clean       remove the environment and every cache

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --editable

.PHONY: reproduce test check lint types imports tests quick postgresql torture bench picture release-check format clean

test: lint types imports tests

check: lint types imports quick

# Two stamps: whoever reproduces the paper waits for what that needs, not for linters, River and Gymnasium, which are
# added on top for the tests. Each is written last, so that a broken install is not mistaken for one. Whenever
# pyproject.toml changes, the environment is made anew.
$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "dpbandits needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=python3.12")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[simulate,plots]'
	touch $(RUNS)

$(READY): $(RUNS)
	$(INSTALL) '.[dev]'
	touch $(READY)

reproduce: $(RUNS)
	$(BIN)/dpbandits reproduce

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

tests: $(READY) postgresql
	$(BIN)/pytest -n 2 --dist loadscope

# Tests start a server of their own. Where it cannot be installed, those that need one are skipped, unless CI is set.
postgresql:
	@if command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "Installing PostgreSQL for the tests"; \
	  (apt-get install -y -qq postgresql || { apt-get update -qq && apt-get install -y -qq postgresql; }) >/dev/null; \
	else \
	  echo "PostgreSQL is not installed, and only root can install it here (apt-get install postgresql)."; \
	  echo "Tests that need it are skipped."; \
	fi

quick: $(READY)
	$(BIN)/pytest -n 2 -m "not slow" tests

torture: $(READY) postgresql
	$(BIN)/pytest -n 2 --torture tests/live/test_torture.py tests/live/test_journal.py tests/service/test_kills_of_services.py \
	  tests/service/test_databases.py

bench: $(READY) postgresql
	$(INSTALL) '.[bench]'
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/long_journals.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/store_choices.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/regret.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/noise_aware.py

picture: $(READY)
	$(BIN)/python scripts/architecture_picture.py

release-check: $(READY)
	$(BIN)/python scripts/release_check.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
