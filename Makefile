# Two commands do all the set-up: `make run` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# More workers than two cores: many tests wait for clocks of programs.
SUITE  := -n 4 --dist loadgroup

# Everything here starts many interpreters: compiled modules are kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-slow fuzz soak check static pyright others bench pictures \
	format clean

run: $(VENV)/.runs  ## open the room on a small real eval on this computer
	@$(BIN)/evalroom demo

test: static  ## every check, then the rest of the fast suite (under 10 minutes)
	$(BIN)/pytest $(SUITE) -m "not slow and not bench and not pure"

test-slow: $(VENV)/.tests  ## old versions of Inspect, long faults, kills at every moment
	@scripts/system-packages
	$(BIN)/pytest $(SUITE) -m slow

fuzz: $(VENV)/.tests  ## ten minutes of each fuzzer (SEED=... repeats a run); part of the soak
	$(BIN)/python -m tests.hostile.fuzz --seconds 600 $(if $(SEED),--seed $(SEED))

soak: $(VENV)/.tests  ## an hour of bad networks over five machines, and the room over all
	@scripts/system-packages
	SOAK_MINUTES=$(or $(SOAK_MINUTES),60) $(BIN)/pytest -s tests/faults/test_weather_for_long.py
	$(MAKE) --no-print-directory fuzz

check: static  ## lint, format, types, import contracts, dead code, coverage of core
	$(BIN)/pytest -q $(SUITE) tests/architecture

static: $(VENV)/.tests
	@scripts/system-packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory -j 2 pyright others

pyright:  # the longest of the checks, on one core: the others run beside it
	$(BIN)/pyright

others:
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/vulture
	$(BIN)/mypy cli core ssh storage tui tests
	$(BIN)/pytest -q $(SUITE) -m "pure and not slow and not bench" --cov --cov-report= tests/core

bench: $(VENV)/.tests  ## the numbers to hold, as a table and as JSON
	@scripts/system-packages
	$(BIN)/python -m tests.bench

pictures: $(VENV)/.tests  ## redraw the stored pictures; look at the difference before a commit
	$(BIN)/pytest tests/tui -q --snapshot-update
	$(BIN)/python -m tests.tui.readme_picture docs/room.svg

format: $(VENV)/.tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage

$(VENV)/.made:
	@PYTHON="$(PYTHON)" scripts/make-venv $(VENV)

$(VENV)/.runs: $(VENV)/.made pyproject.toml
	@echo "installing what evalroom needs into $(VENV), once; that takes a minute or two"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.tests: $(VENV)/.made pyproject.toml
	@echo "installing what the tests need into $(VENV), once; that takes a minute or two"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.runs
