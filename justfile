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

# The API against bare PostgreSQL, as ratios of one run; `just bench quick` takes under a minute
bench *size:
    python -m bench {{ size }}

# The long runs: 10,000 histories of the model, 100,000 bad inputs, 200 kills in 5,000 creates
fuzz:
    PICKUPBOX_MODEL_HISTORIES=10000 PICKUPBOX_MODEL_SEED=$(date +%s) pytest -n 0 tests/model
    PICKUPBOX_FUZZ_CASES=100000 PICKUPBOX_FUZZ_SEED=$(date +%s) pytest -n 0 -s tests/fuzz
    just crash

# 5,000 creates while processes are killed 200 times
crash:
    PICKUPBOX_CRASH_CREATES=5000 PICKUPBOX_CRASH_KILLS=200 PICKUPBOX_CRASH_SEED=$(date +%s) pytest -n 0 tests/crashes

# Plant every fault of tests/planted/faults.py in turn; the suite must catch each
planted *words:
    python -m tests.planted {{ words }}

# A whole sandbox on loopback, with what to try next
demo *args:
    pickupbox demo {{ args }}

# Write requirements.lock anew from pyproject.toml
lock:
    uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --group dev --custom-compile-command "just lock" pyproject.toml --output-file requirements.lock
