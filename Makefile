# Everything a developer or CI does. PYTHON is the interpreter that makes the virtual environment.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS = 1
unexport PYTHONDONTWRITEBYTECODE

EXTRAS := local,optuna,light,wikidata,report
# uv takes a sixth of pip's processor time; pip goes on where uv finds no index, since it does not read pip's settings.
install = $(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt $(1) || \
	$(BIN)/python -m pip install -q --prefer-binary -c constraints.txt $(1)

.PHONY: install demo test nightly oracles format format-check lint types mypy pyright dspy-matrix interop core doors check bench docs release-check conformance clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1" "uv>=0.9"
	$(call install,-e '.[$(EXTRAS)]' --group dev)
	touch .venv/installed

demo: install
	$(BIN)/goldassay demo

# Each worker takes its part of the files as they stand, so that what a file starts (a browser, Ray) is started once.
test: install
	$(BIN)/python -m pytest -n 3 --dist worksteal

# The simulations with all their draws: that intervals cover the truth and tests keep their level; and the cases of laws
# of which `make test` tries a few, those that Hypothesis draws, too.
nightly: install
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 --dist worksteal -m "nightly or hypothesis"

# PyTorch by itself first: where a build for the processor lies on disk, that one is taken.
.venv/oracles: .venv/installed
	$(BIN)/python -m pip install -q torch==2.13.0
	$(call install,--group oracles)
	touch .venv/oracles

# Those that `make test` skips without PyTorch and agentevals.
ORACLES := $(addprefix tests/conformance/test_,answering_bert_score.py answering_semantic.py answering_squad_oracles.py trajectories_agentevals.py)
oracles: .venv/oracles
	$(BIN)/python -m pytest $(ORACLES) tests/models/test_embedding.py

format: install
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

format-check: install
	$(BIN)/ruff format --check .

lint: install
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python .ci/style.py

types: mypy pyright

mypy: install
	$(BIN)/mypy

pyright: install
	$(BIN)/pyright

# What touches DSPy, against older releases; the newest is that of .venv.
DSPY_VERSIONS ?= 3.0.4 3.2.1
dspy-matrix: install
	.ci/dspy-matrix $(DSPY_VERSIONS)

# What reads and writes other tools' logs, with Inspect and MLflow installed: about a minute on two cores.
interop: install
	.ci/interop

# The core's tests in a copy without src/goldassay/ext: six minutes on two cores; CORE names those that CI takes.
core: install
	.ci/core $(CORE)

# A newcomer's way in, with the built wheel alone.
doors:
	PYTHON=$(PYTHON) .ci/doors

check: format-check lint types docs test dspy-matrix interop doors

# The documentation, into build/site: strict, so a broken link ends it.
.venv/docs: .venv/installed
	$(call install,--group docs)
	touch .venv/docs

docs: .venv/docs
	DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q

# official numbers and installed implementations, replayed: prints "N of M"; FETCH=FOLDER downloads the public files first
conformance: install
	$(BIN)/python -m tests.conformance $(if $(FETCH),--fetch $(FETCH))

bench: install
	$(BIN)/python -m benchmarks

# sdist and wheel in empty environments, on Python 3.11 to 3.13, with the newest and the lowest versions of what they need
release-check:
	PYTHON=$(PYTHON) .ci/release-check

clean:
	rm -rf .venv .venv-dspy-* .venv-interop .venv-doors build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
