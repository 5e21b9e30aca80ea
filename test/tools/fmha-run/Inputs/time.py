"""time.py FMHA_RUN: clocks, bound and mma_utilisation of fmha-run --time --json.

More keys take longer, about in proportion; a second run of another policy adds nothing; two S of a query tile are faster than one; a launch in parts has
more clocks than its parts, by the merge kernel."""

import json
import subprocess
import sys

NAMES = ("clocks", "bound", "mma_utilisation")


def timed(*flags):
    done = subprocess.run([sys.argv[1], "--json", "--target=sm_100a", "--head-dim=64", "--q-len=128", *flags], capture_output=True, text=True, check=True)
    return {name: json.loads(done.stdout)[name] for name in NAMES}


def middle(*flags):
    time = timed("--time", *flags)
    clocks = time["clocks"]
    assert 0 < clocks["low"] <= clocks["middle"] <= clocks["high"], clocks
    assert 0 < time["mma_utilisation"] < 1 and "MMA" in time["bound"], time
    return clocks["middle"]


assert timed("--kv-len=300") == dict.fromkeys(NAMES)
short, long = middle("--kv-len=2048"), middle("--kv-len=4096")
assert 1.5 * short < long < 2 * short, (short, long)
assert middle("--kv-len=2048", "--every-policy") == short
one, two = (middle("--kv-len=2048", "--q-tiles=1", f"--s-stages={stages}") for stages in (1, 2))
assert two < 0.9 * one, (one, two)
parts = middle("--kv-len=4096", "--splits=2")
assert parts > long / 2, (parts, long)
