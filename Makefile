# SPDX-License-Identifier: Apache-2.0
# Every way to build, run and check framegate. `make help` lists them; CI calls only these.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON = $(VENV)/bin/python
PIP = $(PYTHON) -m pip --quiet --disable-pip-version-check
CARGO_ENV = eval "$$($(PYTHON) native/_build/cargo_env.py)"
PYTEST = $(PYTHON) -m pytest
# Most tests wait for processes of their own. A file stays together: its tests may share what is costly to start.
SIDE_BY_SIDE := --numprocesses auto --dist loadfile
PURE_CRATES := -p framegate-core -p framegate-codecs -p framegate-counters -p framegate-join -p framegate-journal -p framegate-checkpoint \
	-p framegate-intake -p framegate-engine -p framegate-recording -p framegate-launcher
AERON_CRATES := -p framegate-python -p framegate-media-driver -p aeron-link-shim
SAY = @printf '\033[1m==> %s\033[0m\n'

# What the extension and the media driver are made of; a change here, and only here, compiles again.
NATIVE_SOURCES := $(shell find native schema/gen/rust .cargo -path native/target -prune -o -type f \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.cmake' -o -name '*.py' \) -print 2>/dev/null)

FUZZ_SECONDS ?= 60
FUZZ_RUNS ?= 1000000
SEED ?=
BENCH ?=
JOINS ?= 10000

.PHONY: help setup demo test long check codegen bench sim fuzz clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.native ## a .venv with framegate in it, everything compiled; quick when nothing changed
	$(SAY) 'ready: $(VENV)/bin/framegate'

$(VENV)/.dependencies: constraints.txt pyproject.toml dev/setup/system.sh dev/setup/requirements.py
	$(SAY) 'system: a compiler, cargo, Java'
	bash dev/setup/system.sh
	$(SAY) 'Python: $(VENV) with the packages of constraints.txt'
	[ -x $(PYTHON) ] || "$$(bash dev/setup/find-python.sh)" -m venv $(VENV)
	$(PIP) install --constraint constraints.txt pip
	$(PIP) install --constraint constraints.txt $$($(PYTHON) dev/setup/requirements.py)
	touch $@

$(VENV)/.native: $(VENV)/.dependencies $(NATIVE_SOURCES)
	$(SAY) 'native: the extension and the media driver (some minutes the first time)'
	PATH="$$PWD/$(VENV)/bin:$$PATH" $(PIP) install --no-build-isolation --no-deps --editable .
	touch $@

demo: setup ## set everything up, then run `framegate demo`
	$(SAY) 'framegate demo'
	$(VENV)/bin/framegate demo

test: setup ## set everything up, then run the whole test suite
	$(SAY) 'Rust: unit tests of the pure crates'
	cargo test --quiet --locked --manifest-path native/Cargo.toml $(PURE_CRATES)
	$(SAY) 'Rust: commit word, lock, bell, command word and channel under every order that the memory model allows'
	RUSTFLAGS='--cfg loom' cargo test --quiet --locked --release --manifest-path native/Cargo.toml \
		--target-dir native/target/loom -p framegate-core --test loom_commit --test loom_biased --test loom_bell
	RUSTFLAGS='--cfg loom' cargo test --quiet --locked --release --manifest-path native/Cargo.toml \
		--target-dir native/target/loom -p framegate-checkpoint --test loom_word --test loom_channel
	$(SAY) 'Python: unit, property, conformance, interop, system, outside, spark'
	$(PYTEST) $(SIDE_BY_SIDE) $(TESTS)

long: setup ## the tests with their full counts
	$(SAY) 'Rust: three inputs in every order'
	cargo test --quiet --locked --release --manifest-path native/Cargo.toml -p framegate-checkpoint \
		--test every_order -- --ignored --nocapture
	$(SAY) 'Rust: ten million sleeps between two processes'
	cargo test --quiet --locked --release --manifest-path native/Cargo.toml -p framegate-core \
		--test bell -- --ignored --nocapture
	$(SAY) 'Python: everything, with full counts'
	FRAMEGATE_TEST_LANE=long $(PYTEST) -m 'long or not long' --timeout=3600 $(TESTS)
	$(SAY) 'the Spark source with other versions of PySpark, pyarrow, pandas and numpy'
	$(PYTHON) -m dev.lanes.spark_versions
	$(SAY) 'joins from outside: $(JOINS) random ones, from seed $(or $(SEED),1) on'
	$(PYTHON) -m tests.outside.random_joins $(JOINS) $(or $(SEED),1)

check: setup ## linters, formatters, types, the native stub, fresh generated code
	$(SAY) 'ruff'
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(SAY) 'mypy --strict, and the native stub against the binary'
	bash dev/setup/typecheck.sh
	$(SAY) 'rustfmt, clippy'
	cargo fmt --manifest-path native/Cargo.toml $(PURE_CRATES) $(AERON_CRATES) -- --check
	cargo clippy --quiet --locked --no-deps --manifest-path native/Cargo.toml $(PURE_CRATES) --all-features --all-targets -- -D warnings
	$(CARGO_ENV) && cargo clippy --quiet --locked --no-deps --release --manifest-path native/Cargo.toml \
		$(AERON_CRATES) -- -D warnings
	$(SAY) 'generated code is fresh'
	$(PYTHON) -m dev.codegen --check
	$(SAY) 'licences of what is linked in'
	$(PYTHON) -m dev.third_party --check

codegen: setup ## write the codecs again from schema/xml
	$(SAY) 'codecs from schema/xml'
	$(PYTHON) -m dev.codegen

bench: setup ## measure, and write build/bench/report.html; BENCH=name for one of them, COMPARE=old report.json
	$(SAY) 'benchmarks'
	$(PIP) install --constraint constraints.txt $$($(PYTHON) dev/setup/requirements.py bench)
	$(PYTHON) -m dev.bench $(BENCH) --report build/bench $(if $(COMPARE),--compare $(COMPARE))

sim: setup ## the seeded simulator; SEED=n replays one run
	$(SAY) 'simulator'
	$(PYTHON) -m tests.sim $(SEED)

fuzz: setup ## decoders, Python against Rust, for FUZZ_SECONDS; then FUZZ_RUNS inputs into inspect and checkpoints
	$(SAY) 'fuzzing the decoders for $(FUZZ_SECONDS) s'
	$(PIP) install --constraint constraints.txt atheris
	$(PYTHON) -m tests.fuzz $(FUZZ_SECONDS)
	$(SAY) 'fuzzing what reads recordings, messages, superblocks and slots with $(FUZZ_RUNS) inputs'
	$(PYTHON) -m tests.fuzz.recordings $(FUZZ_RUNS)
	$(SAY) "fuzzing checkpoints, files and schedules, with $$(($(FUZZ_RUNS) / 10)) inputs, then as many native ones of each kind"
	$(PYTHON) -m tests.fuzz.checkpoints $$(($(FUZZ_RUNS) / 10))
	FRAMEGATE_FUZZ_RUNS=$$(($(FUZZ_RUNS) / 10)) cargo test --quiet --locked --manifest-path native/Cargo.toml \
		-p framegate-checkpoint --test any_input

clean: ## remove what was built here: .venv, native/target, caches
	$(SAY) 'removing what was built'
	rm -rf $(VENV) native/target build dist framegate.egg-info framegate/_native*.so
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
