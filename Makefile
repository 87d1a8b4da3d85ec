# What a newcomer runs: `make demo`, then `make test`. Both install what is missing and say what they are doing.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build ui demo walk test test-ui check bench bench-queue test-soak docs api

# Most tests wait for a server, a signal or a time-out more than they compute: three at a time for each core keep the cores busy.
TEST_THREADS ?= $(shell echo $$((3 * $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN))))
# The slices of long tests are drawn from the commit, so that the slices of many commits come to the whole.
TEST_SEED ?= $(shell echo $$((16#$$(git rev-parse --short=7 HEAD 2>/dev/null | cut -c 1-7 || echo 1))))

, := ,

# The demo's data stays out of the way of a real installation.
DEMO_HOME ?= /tmp/chancery-demo-$(shell id -u)

# Every test makes a database, which is a thousand files: in memory that takes a third of a second, on a disk that is slow with small
# files five times as long. Tests kill processes, never the power, so nothing is lost by it.
define in_memory
if [ -z "$${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -gt 4194304 ]; then
  export TMPDIR=/dev/shm
  echo "databases of the tests are kept in memory (/dev/shm); set TMPDIR to have them elsewhere"
fi
endef

help: ## what there is to run
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: ## install what is missing, or say exactly what to install
	@bin/setup

build: setup ui ## build the command line
	@echo "building chancery (the first build takes a few minutes)"
	cargo build -p chancery-cli

ui: ## make the files of the UI, which the server carries inside itself
	@bin/ui

demo: build ## a populated system in the browser, made by really running the flows; Ctrl-C ends it
	@echo "making and showing the demo in $(DEMO_HOME)"
	export CHANCERY_HOME="$(DEMO_HOME)"
	unset DATABASE_URL CHANCERY_PRINCIPAL
	trap 'target/debug/chancery db stop' EXIT
	echo "to look around by hand meanwhile: export CHANCERY_HOME=$(DEMO_HOME) PATH=\"$$PWD/target/debug:\$$PATH\""
	target/debug/chancery demo --serve

walk: build ## a guided walk by command, from an empty data directory to a verified log
	@echo "walking in $(DEMO_HOME)"
	export CHANCERY_HOME="$(DEMO_HOME)"
	unset DATABASE_URL CHANCERY_PRINCIPAL
	trap 'target/debug/chancery db stop' EXIT
	target/debug/chancery demo
	echo
	echo "to go on with this data: export CHANCERY_HOME=$(DEMO_HOME) PATH=\"$$PWD/target/debug:\$$PATH\""

test: setup ui ## every test, with a seeded slice of the long ones
	@echo "building the tests (the first build takes a few minutes)"
	bin/step "build the tests" cargo build --workspace --all-targets
	export CHANCERY_TEST_SEED="$${CHANCERY_TEST_SEED:-$(TEST_SEED)}"
	echo "running the tests against a private PostgreSQL, $(TEST_THREADS) at a time"
	$(in_memory)
	trap 'target/debug/test-cluster stop' EXIT
	code=0
	bin/step "run the tests" cargo nextest run --workspace --no-fail-fast --test-threads $(TEST_THREADS) $$([ -t 2 ] || echo --status-level pass --show-progress counter) || code=$$?
	bin/test-report target/nextest/default/junit.xml || true
	echo "the seed was $$CHANCERY_TEST_SEED; CHANCERY_TEST_SEED=$$CHANCERY_TEST_SEED repeats it"
	exit $$code

test-ui: build ## the ten core tasks, accessibility and pictures in a real browser, against a real server
	@bin/browser-tools
	ui/node_modules/.bin/node ui/tests/browser/run.mjs

check: setup ui ## format, lints, documentation, words and types of the UI, licences, lock files
	@echo "checking format, lints and documentation"
	bin/step "UI: words" npm --prefix ui run --silent check
	bin/step "UI: unit tests" npm --prefix ui test
	bin/step "UI: types" npm --prefix ui run --silent typecheck
	bin/step "format" cargo fmt --all --check
	bin/step "lock file of the benchmarks' peers" bin/peers-lock
	bin/step "lints" cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" bin/step "documentation" cargo doc --workspace --no-deps --document-private-items --quiet
	bin/step "licences" bin/licences --check
	if command -v cargo-deny >/dev/null; then
	  bin/step "crate walls" cargo deny --offline check licenses bans sources
	else
	  echo "cargo-deny is not installed: the walls between the crates were not checked (cargo install cargo-deny)"
	fi

bench: setup ## the engine beside its limit, in one run; figures in bench/results/; QUICK=1 shows that all of it runs
	@echo "building the benchmarks with optimisation (the first build takes about 8 minutes on 2 cores)"
	cargo build --release -p chancery-bench
	echo "$(if $(QUICK),one round with little: about 2 minutes$(,) and the figures mean nothing,measuring: about 35 minutes; Ctrl-C ends it$(,) and QUICK=1 shows in 2 minutes that all of it runs)"
	for part in "" --births-only --workflows-only --layout-only --http-only --signed-only "--held-only 180"; do
	  target/release/chancery-bench $(if $(QUICK),--quick) $$part
	done

bench-queue: setup ## the queue beside River and graphile_worker, in one run; figures in bench/results/queue.json; QUICK=1 as above
	@echo "building the peers with optimisation (the first build takes about 10 minutes on 2 cores)"
	cargo build --release --locked --manifest-path bench/peers/Cargo.toml --target-dir bench/peers/target
	echo "$(if $(QUICK),one round with little: about half a minute$(,) and the figures mean nothing,measuring: about 6 minutes; Ctrl-C ends it$(,) and QUICK=1 shows in half a minute that it runs)"
	bench/peers/target/release/chancery-bench-peers $(if $(QUICK),--quick)

test-soak: setup ## the same tests with their full figures; takes some hours
	@echo "running the tests with full figures"
	$(in_memory)
	trap 'target/debug/test-cluster stop' EXIT
	export CHANCERY_TEST_COMMANDS=100000 CHANCERY_TEST_EVENTS=50000 CHANCERY_TEST_RELAY_EVENTS=100000 CHANCERY_TEST_KILLS=200 CHANCERY_TEST_FLIPS=all CHANCERY_TEST_CELLS=all CHANCERY_TEST_INSTANTS=all CHANCERY_TEST_LAG_EVENTS=1000000 CHANCERY_TEST_JOBS=200000 CHANCERY_TEST_PERMITS=1000 CHANCERY_TEST_GRAPHS=50000 CHANCERY_TEST_WALKS=2000 CHANCERY_TEST_FLOWS=200 CHANCERY_TEST_LISTENERS=1000 CHANCERY_TEST_EXAMPLES=200 CHANCERY_TEST_RULES=1000000 CHANCERY_TEST_SIGNATURES=100000 CHANCERY_TEST_TEXTS=all CHANCERY_TEST_WAYS=all
	code=0
	bin/step "run the tests with full figures" cargo nextest run --workspace --no-fail-fast --profile soak || code=$$?
	bin/test-report -n 40 target/nextest/soak/junit.xml || true
	tail -n 1 target/steps.txt
	exit $$code

docs: build ## generate the pages that are made from the machine files
	@for file in machines/*.yaml machines/examples/*.yaml; do
	  target/debug/chancery machine diagram "$$file" > "docs/states/$$(basename "$$file" .yaml).md"
	done

api: setup ## write the OpenAPI document and the TypeScript client's types, and check them
	@echo "writing api/openapi.json and ui/api/src/schema.d.ts"
	cargo run --quiet -p chancery-api --example openapi > target/openapi.json
	mv target/openapi.json api/openapi.json
	target/api-tools/bin/openapi-spec-validator api/openapi.json
	npm --prefix ui/api run --silent generate
	npm --prefix ui/api run --silent check
