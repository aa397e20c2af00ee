# Two commands: `make demo` and `make test`. Each sets itself up in .venv and is quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt

export HF_HUB_OFFLINE := 1
export TF_CPP_MIN_LOG_LEVEL := 3

.PHONY: help demo test soak check format bench clean
help:
	@echo "make demo    build and look at a small multi-domain archive"
	@echo "make test    the tests"
	@echo "make check   formatter, linter, type checker"
	@echo "make soak    long fuzzing and kill runs"
	@echo "make bench   benchmarks beside their peers (prints ratios)"

$(VENV)/.demo: pyproject.toml setup.py constraints.txt $(wildcard src/barrow/*/_*.c)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[corpus,fast,pdf]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) -e '.[test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e '.[bench]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/barrow demo build/pocket

test: $(VENV)/.test
	$(BIN)/python -m pytest -m 'not soak' $(ARGS)

soak: $(VENV)/.test
	$(BIN)/python -m pytest --hypothesis-profile=soak $(ARGS)

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
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
