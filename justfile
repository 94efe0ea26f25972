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

# API, delivery and gateway against the bare engines, as ratios of one run, PINs at 200 keypads a second, and the administration's lists; `just bench quick` takes three and a half minutes
bench *size:
    python -m bench {{ size }}

# The long runs: 10,000 histories of the model, 20,000 of the physical truth, 100,000 bad inputs, 1,000,000 payloads, 200 kills in 5,000 creates and in 20,000 deliveries, 50,000 door cycles with everything killed
fuzz:
    PICKUPBOX_MODEL_HISTORIES=10000 PICKUPBOX_MODEL_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/model
    PICKUPBOX_TRUTH_HISTORIES=20000 PICKUPBOX_TRUTH_SEED=$(date +%s) pytest -n 0 --timeout 28800 tests/truth
    PICKUPBOX_FUZZ_CASES=100000 PICKUPBOX_FUZZ_SEED=$(date +%s) pytest -n 0 --timeout 7200 -s tests/fuzz
    just wire
    just crash
    just lost
    just faults

# 5,000 creates while processes are killed 200 times
crash:
    PICKUPBOX_CRASH_CREATES=5000 PICKUPBOX_CRASH_KILLS=200 PICKUPBOX_CRASH_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/crashes

# 20,000 events to receivers that fail, while workers are killed 200 times
lost:
    PICKUPBOX_DELIVERY_EVENTS=20000 PICKUPBOX_DELIVERY_KILLS=200 PICKUPBOX_DELIVERY_SEED=$(date +%s) pytest -n 0 --timeout 7200 -s tests/crashes/test_deliveries.py -k every_event

# 1,000,000 fuzzed payloads to the wire (a minute and a half) and 1,000,000 messages to a gateway (40 minutes): none stops it, none leaks a PIN
wire:
    PICKUPBOX_WIRE_CASES=1000000 PICKUPBOX_WIRE_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/devices/test_malformed.py -k whatever_comes
    PICKUPBOX_GATEWAY_CASES=1000000 PICKUPBOX_GATEWAY_SEED=$(date +%s) pytest -n 0 --timeout 7200 tests/devices/test_gateway_input.py

# 5,000 boxes on one broker and one gateway, a heartbeat every 15 s, for 10 minutes; `just crowd quick` is 500 for 20 s
crowd *size:
    python -m bench.crowd {{ size }}

# From a door's movement at 20 virtual boxes to 200 open pages of the administration, with everything real between
live:
    PICKUPBOX_LIVE_PAGES=200 PICKUPBOX_LIVE_BOXES=20 PICKUPBOX_LIVE_SECONDS=0.5 pytest -n 0 -s tests/admin/test_live_street.py

# 1,000 boxes, 50,000 door cycles, messages doubled, overtaken and a minute late; broker, gateways and boxes killed
faults:
    PICKUPBOX_FAULT_BOXES=1000 PICKUPBOX_FAULT_CYCLES=50000 PICKUPBOX_FAULT_BROKER_KILLS=20 PICKUPBOX_FAULT_GATEWAY_KILLS=50 PICKUPBOX_FAULT_BOX_KILLS=500 PICKUPBOX_FAULT_LATE_SECONDS=60 PICKUPBOX_FAULT_SEED=$(date +%s) pytest -n 0 --timeout 7200 -s tests/faults

# `pickupbox listen` follows 10,000 events while its connections are cut 50 times and it and the API are killed: none is missed
cuts:
    PICKUPBOX_LISTEN_EVENTS=10000 PICKUPBOX_LISTEN_CUTS=50 PICKUPBOX_LISTEN_SEED=$(date +%s) pytest -n 0 --timeout 3600 -s tests/listen/test_cuts.py

# Whether three bad endpoints, one with 1,000,000 events waiting, slow 97 good ones; `just isolation quick` is small
isolation *size:
    python -m bench.isolation {{ size }}

# Plant every fault of tests/planted/ in turn; the suite must catch each
planted *words:
    python -m tests.planted {{ words }}

# Write what the docs have from the code, then build the site strictly into out/site
docs:
    python -m documentation

# Follow docs/quickstart.md from a clean clone, as a newcomer would, and say how long each step took
quickstart:
    python -m tests.readme.quickstart

# Both packages as wheels in a clean environment: the demo runs from it, and the SDK's tests pass on it
wheels:
    python -m tests.readme.wheels

# A whole sandbox on loopback, with what to try next
demo *args:
    pickupbox demo {{ args }}

# Write requirements.lock anew from pyproject.toml
lock:
    uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --group dev --extra server --extra locks --no-emit-package pickupbox-sdk --custom-compile-command "just lock" pyproject.toml --output-file requirements.lock
