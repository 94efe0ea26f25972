# Pickupbox: the commands that everything else relies on. `just` alone lists them.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

[private]
default:
    @just --list --unsorted

# Make the virtual environment from the hashed lock, with the newest Python (3.12 or newer) on this machine
setup:
    .ci/setup

# Format, lint, types, one-way imports
check:
    ruff format --check .
    ruff check .
    mypy
    lint-imports

# Format the code and fix what can be fixed
fix:
    ruff format .
    ruff check --fix .

# All tests, on the real PostgreSQL, in parallel
test *args:
    pytest -n 2 --dist worksteal {{ args }}

# API and delivery against the bare engines, as ratios of one run; `just bench quick` takes a minute and a half
bench *size:
    python -m bench {{ size }}

# The long runs: 10,000 histories of the model, 100,000 bad inputs, 200 kills in 5,000 creates and in 20,000 deliveries
fuzz:
    PICKUPBOX_MODEL_HISTORIES=10000 PICKUPBOX_MODEL_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/model
    PICKUPBOX_FUZZ_CASES=100000 PICKUPBOX_FUZZ_SEED=$(date +%s) pytest -n 0 --timeout 7200 -s tests/fuzz
    just crash
    just lost

# 5,000 creates while processes are killed 200 times
crash:
    PICKUPBOX_CRASH_CREATES=5000 PICKUPBOX_CRASH_KILLS=200 PICKUPBOX_CRASH_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/crashes

# 20,000 events to receivers that fail, while workers are killed 200 times
lost:
    PICKUPBOX_DELIVERY_EVENTS=20000 PICKUPBOX_DELIVERY_KILLS=200 PICKUPBOX_DELIVERY_SEED=$(date +%s) pytest -n 0 --timeout 7200 -s tests/crashes/test_deliveries.py -k every_event

# Whether three bad endpoints, one with 1,000,000 events waiting, slow 97 good ones; `just isolation quick` is small
isolation *size:
    python -m bench.isolation {{ size }}

# Plant every fault of tests/planted/faults.py in turn; the suite must catch each
planted *words:
    python -m tests.planted {{ words }}

# A whole sandbox on loopback, with what to try next
demo *args:
    pickupbox demo {{ args }}

# Write requirements.lock anew from pyproject.toml
lock:
    uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --group dev --extra server --extra locks --custom-compile-command "just lock" pyproject.toml --output-file requirements.lock
