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
    pytest -n 2 {{ args }}

# The API against bare PostgreSQL, as ratios of one run; `just bench quick` takes under a minute
bench *size:
    python -m bench {{ size }}

# A whole sandbox on loopback, with what to try next
demo *args:
    pickupbox demo {{ args }}

# Write requirements.lock anew from pyproject.toml
lock:
    uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --group dev --custom-compile-command "just lock" pyproject.toml --output-file requirements.lock
