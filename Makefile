# Needs python3, pip, a C toolchain, make and cargo. Everything else goes into .venv; `make clean` removes it.

PYTHON ?= python3
VENV := .venv
FLOOR := .venv-floor
TRAIN := .venv-train
OLDER := .venv-train-older
NEXT := .venv-next
BIN := $(CURDIR)/$(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# Tests of a file share fixtures, so each file runs in one process. tests/conftest.py sets the order: xdist's own order,
# by the number of tests, would start the longest files last.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
RUST := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml $(shell find rust contract -type f -not -path 'rust/wasm/*')
PACKAGE := $(shell find python -type f -not -name '*.pyc' -not -name '*.so')
STAGES := lint test-rust test-python test-floor docs examples wheel
PIP_FLAGS := --quiet --disable-pip-version-check
# Versions of the last run of `test-train`, in addition to the pins. pufferlib-core pins torch but works with others.
TORCH := torch==2.13.0
TRAINERS := stable-baselines3==2.9.2 sb3-contrib==2.9.2 sbx-rl==0.28.0 jax==0.10.2 torchrl==0.14.1 tensordict==0.14.3 \
  "minari[create,hdf5]==0.5.4" pillow psutil==7.2.2
PUFFER := pufferlib-core==3.0.23
# A second environment without the pins: RLlib needs gymnasium 1.2.2 exactly, and Tianshou pandas below 3.
OLDER_TRAINERS := "ray[rllib]==2.60.0" tianshou==2.0.1
OLDER_TESTS := tests/train/test_rllib.py tests/train/test_tianshou.py
# A pre-release in the bound lets pip install pre-releases of this package; `--pre` would apply to all dependencies.
VERIFIERS := verifiers>=0.4.1.dev0
FUZZ_SECONDS ?= 20
# The pins were resolved on Python 3.11.2, Debian's. On an older Python, pip resolves the versions.
PINS = $(shell $(PYTHON) -c 'import sys; print("$(CURDIR)/constraints.txt" if sys.version_info >= (3, 11) else "")')

export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export NO_MKDOCS_2_WARNING := 1
export OPENOUTCRY_FULL
# Tests start about 1,000 processes; without bytecode files each would compile the package.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo build wasm test test-full test-train test-everywhere test-javascript test-verifiers-next $(STAGES)
.PHONY: lint-rust lint-python lint-built test-crates test-instructions fuzz sanitize
.PHONY: format licences reproducible packages bench instructions platforms pins clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' Makefile

# A demo needs no optimized engine: without a full build, it builds the quick profile.
demo: $(if $(wildcard $(VENV)/.built),$(VENV)/.built,$(VENV)/.quick) ## Rank the baseline agents on real data; write report.html
	$(BIN)/openoutcry demo

build: $(VENV)/.built ## Build the package into .venv

test: ## Run every test and check, as CI does
	@scripts/install-system tests
	@MAKE='$(MAKE)' scripts/stages $(STAGES)

test-full: ## Run every test with the full number of random cases, and fuzz each reader for two minutes
	@$(MAKE) --no-print-directory test OPENOUTCRY_FULL=1
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=120

# Building the extension takes minutes on one core, so the wheel's build is reused; pip and mypy use one core only.
lint: $(VENV)/.maturin ## Check format, lints, types, the stub, layers, sizes and words
	@MAKE='$(MAKE)' scripts/parallel lint-rust lint-python
	@$(MAKE) --no-print-directory lint-built

lint-rust: dist/.built
	scripts/cargo-lint
	$(BIN)/python scripts/dependency_rules.py
	$(BIN)/python scripts/licences.py --check

lint-python: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-built: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m mypy.stubtest --concise openoutcry.openoutcry_py
	$(PYTEST) tests/tree/test_layers.py tests/tree/test_rust_layers.py tests/tree/test_tree.py

test-rust: ## Test the crates
	@MAKE='$(MAKE)' scripts/parallel test-crates test-instructions

test-crates:
	cargo test --workspace --locked --quiet

# `make test` gives each reader a fixed number of inputs.
fuzz: $(VENV)/.dev $(VENV)/.built ## Fuzz each reader of untrusted bytes for FUZZ_SECONDS (20)
	OPENOUTCRY_FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --profile fuzz --locked --quiet --package openoutcry --test fuzz
	OPENOUTCRY_FUZZ_SECONDS=$(FUZZ_SECONDS) $(PYTEST) $(PARALLEL) --dist load tests/fuzz

# Not part of `test`: Miri and the address sanitizer need a nightly toolchain.
sanitize: ## Run the tests of unsafe code under Miri and the address sanitizer (needs nightly Rust)
	scripts/sanitize

test-instructions:
	@if command -v valgrind >/dev/null; then $(PYTHON) scripts/instructions; \
	else echo "not checked: scripts/instructions needs valgrind; hint: apt-get install valgrind"; fi

test-python: $(VENV)/.dev $(VENV)/.built ## Test the package on the newest numpy and gymnasium
	$(PYTEST) $(PARALLEL)

test-floor: $(FLOOR)/.built ## Test the wheel on the oldest supported numpy and gymnasium
	$(FLOOR)/bin/python -m pytest $(PARALLEL) -m "not once"

# Not part of `test`: torch installs 5 GB of GPU libraries in each environment. Minari and Tianshou need Python 3.11.
test-train: $(TRAIN)/.built $(OLDER)/.built ## Train with eight libraries, in two separate environments
	$(TRAIN)/bin/python -m pytest tests/train $(OLDER_TESTS:%=--ignore=%)
	$(OLDER)/bin/python -m pytest $(OLDER_TESTS)

wasm: ## Build the engine for Node and browsers into rust/wasm/npm and the package
	scripts/wasm

# Not part of `test`: it compiles the engine for JavaScript (7 to 16 minutes from a clean clone on two cores) and for
# each platform that this machine can link (8 to 29 more), which takes longer than all of CI.
test-everywhere: test-javascript ## Test JavaScript and every package of every platform
	@$(MAKE) --no-print-directory packages

test-javascript: $(VENV)/.dev $(VENV)/.built ## Test that Node, Chromium, the npm package and self-verifying pages return the same bits
	@scripts/install-system tests
	cargo fmt --check --all --manifest-path rust/wasm/Cargo.toml
	scripts/wasm
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}" cargo clippy --manifest-path rust/wasm/Cargo.toml --workspace --locked --quiet --target wasm32-unknown-unknown -- -D warnings
	$(PYTEST) $(PARALLEL) tests/everywhere

# Not part of `test`: the newest version changes daily, and so may the result. `.ci/nightly` runs it.
test-verifiers-next: $(NEXT)/.built ## Test the environment on the newest pre-release of verifiers (what .ci/nightly runs)
	$(NEXT)/bin/python -m pip install $(PIP_FLAGS) --upgrade "$(VERIFIERS)"
	@$(NEXT)/bin/python -m pip freeze | grep '^verifiers=='
	$(NEXT)/bin/python -m pytest $(PARALLEL) tests/verifiers_env

docs: $(VENV)/.dev ## Build the site into site/
	$(BIN)/mkdocs build --strict --quiet

examples: $(VENV)/.dev $(VENV)/.built ## Run every example
	scripts/run-examples $(BIN)

wheel: dist/.checked ## Build the wheel into dist/ and check its size, contents and ABI

# Not part of `test`: it links the engine once for every platform.
packages: $(VENV)/.dev $(VENV)/.built ## Build wheels, sdist and crates; test each in a clean environment
	PATH="$(BIN):$$PATH" scripts/packages

bench: build ## Measure the speed of the engine against numpy
	$(BIN)/openoutcry bench

# Not part of `test`: it compiles the engine twice.
reproducible: $(VENV)/.maturin ## Build the wheel twice in different folders and compare the bytes
	PATH="$(BIN):$$PATH" scripts/reproducible

instructions: ## Count instructions per step and compare with their bounds (needs valgrind)
	$(PYTHON) scripts/instructions

format: $(VENV)/.dev ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	cargo fmt

platforms: ## Test that records and scores are equal in every profile, CPU target and with musl
	scripts/platforms

licences: ## Rewrite the licence texts of the linked crates (after a change of a Cargo.lock)
	$(PYTHON) scripts/licences.py

pins: ## Resolve the newest dependencies and rewrite constraints*.txt
	$(PYTHON) scripts/pins.py

clean: ## Remove all build products
	rm -rf target dist site report.html $(VENV) $(FLOOR) $(TRAIN) $(OLDER) $(NEXT) python/openoutcry/*.so
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf python/openoutcry/report/engine $(addprefix rust/wasm/npm/,dist node_modules src/native LICENSE-* *.tgz)

$(VENV)/.venv: scripts/install-system
	scripts/install-system
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.maturin: $(VENV)/.venv constraints.txt
	PIP_CONSTRAINT=$(PINS) $(BIN)/python -m pip install $(PIP_FLAGS) "maturin>=1.9,<2"
	@touch $@

$(VENV)/.dev: $(VENV)/.venv constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tests need Python 3.11 or newer, because the pins need it")'
	$(BIN)/python -m pip install $(PIP_FLAGS) --no-compile --no-deps -r constraints.txt
	@# pip would compile on one core. Files that packages ship for another Python do not compile; ignore them.
	@$(BIN)/python -m compileall -q -q -j 0 $(VENV)/lib || true
	@touch $@

$(VENV)/.built: $(VENV)/.maturin $(RUST)
	PIP_QUIET=1 PIP_CONSTRAINT=$(PINS) $(BIN)/maturin develop --release --locked
	@touch $@

$(VENV)/.quick: $(VENV)/.maturin $(RUST)
	OPENOUTCRY_BUILD_PROFILE=quick PIP_QUIET=1 PIP_CONSTRAINT=$(PINS) $(BIN)/maturin develop --profile quick --locked
	@touch $@

dist/.built: $(VENV)/.maturin $(RUST) $(PACKAGE) README.md
	@rm -rf dist
	$(BIN)/maturin build --release --locked --out dist
	@touch $@

dist/.checked: $(VENV)/.dev dist/.built scripts/check_wheel.py
	$(BIN)/python scripts/check_wheel.py dist/*.whl
	$(BIN)/abi3audit --strict --assume-minimum-abi3 3.10 dist/*.whl
	@touch $@

$(FLOOR)/.venv: scripts/install-system constraints-floor.txt
	$(PYTHON) -m venv --clear $(FLOOR)
	$(FLOOR)/bin/python -m pip install $(PIP_FLAGS) --no-deps -r constraints-floor.txt
	@touch $@

$(FLOOR)/.built: $(FLOOR)/.venv dist/.built
	$(FLOOR)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall dist/*.whl
	$(FLOOR)/bin/python -m pip check
	@touch $@

$(TRAIN)/.venv: scripts/install-system constraints.txt
	$(PYTHON) -m venv --clear $(TRAIN)
	PIP_CONSTRAINT=$(PINS) $(TRAIN)/bin/python -m pip install $(PIP_FLAGS) $(TORCH) $(TRAINERS) pytest hypothesis
	@touch $@

$(TRAIN)/.built: $(TRAIN)/.venv dist/.built
	$(TRAIN)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall dist/*.whl
	PIP_CONSTRAINT=$(PINS) $(TRAIN)/bin/python -m pip install $(PIP_FLAGS) "openoutcry[train]"
	$(TRAIN)/bin/python -m pip install $(PIP_FLAGS) --no-deps $(PUFFER)
	@touch $@

$(OLDER)/.venv: scripts/install-system
	$(PYTHON) -m venv --clear $(OLDER)
	$(OLDER)/bin/python -m pip install $(PIP_FLAGS) $(TORCH) $(OLDER_TRAINERS) pytest hypothesis
	@touch $@

$(OLDER)/.built: $(OLDER)/.venv dist/.built
	$(OLDER)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall dist/*.whl
	$(OLDER)/bin/python -m pip install $(PIP_FLAGS) openoutcry
	@touch $@

$(NEXT)/.venv: scripts/install-system
	$(PYTHON) -m venv --clear $(NEXT)
	@touch $@

$(NEXT)/.built: $(NEXT)/.venv dist/.built
	$(NEXT)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall dist/*.whl
	$(NEXT)/bin/python -m pip install $(PIP_FLAGS) openoutcry hypothesis pytest pytest-xdist
	@touch $@
