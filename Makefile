# Two commands: `make demo` and `make test`. Each sets itself up in .venv and is quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt

export HF_HUB_OFFLINE := 1
export TF_CPP_MIN_LOG_LEVEL := 3

# The leaderboard is tested in a real browser; without one, and without the right to install it, those
# tests say so and are skipped.
BROWSER := command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
	command -v google-chrome > /dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && \
	apt-get install -y -qq --no-install-recommends chromium > /dev/null; } || \
	echo 'no Chromium here: tests in a browser are skipped'

.PHONY: help demo test golden soak check format bench clean
help:
	@echo "make demo    text every machine has to a scored model, in minutes"
	@echo "make test    the tests"
	@echo "make golden  results of other libraries that the tests compare with, computed and stored"
	@echo "make check   formatter, linter, type checker"
	@echo "make soak    long fuzzing and kill runs"
	@echo "make bench   benchmarks beside their peers (prints ratios)"

$(VENV)/.demo: pyproject.toml setup.py constraints.txt $(wildcard src/barrow/*/_*.c)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[corpus,fast,train]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) -e '.[test]'
	@$(BROWSER)
	# It wants torchvision, which no test needs: they put a stand-in in its place.
	$(PIP) --no-deps 'open_clip_torch==3.3.0'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e '.[bench]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/barrow demo --out demo

# Whole files go to one of two processes, so that what a file compiles is compiled once.
test: $(VENV)/.test
	GOLDEN=check $(BIN)/python -m pytest -m 'not soak' -n 2 --dist loadfile --durations=10 $(ARGS)

# Results of other libraries that tests compare with, in tests/golden.
golden: $(VENV)/.test
	GOLDEN=write $(BIN)/python -m pytest -m 'not soak' -n 2 --dist loadfile $(ARGS)

soak: $(VENV)/.test
	GOLDEN=compute XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_DISABLE_MOST_OPTIMIZATIONS=0 $(BIN)/python -m pytest --hypothesis-profile=soak $(ARGS)

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_archive.py $(ARGS)

clean:
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
