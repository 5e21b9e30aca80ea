"""time.py FMHA_RUN: clocks, bound and mma_utilisation of fmha-run --time --json.

More keys take longer, about in proportion; a second run of another policy adds nothing; two S of a query tile are faster than one; a launch in parts has
more clocks than its parts, by the merge kernel; a draw of figures does not depend on their number."""

import json
import os
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


def drawn(draws):
    variables = os.environ | {"PTXSIM_TIME_DRAWS": str(draws)}
    command = [sys.argv[1], "--json", "--target=sm_100a", "--head-dim=64", "--q-len=128", "--kv-len=512", "--time"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout)["drawn_clocks"]


five = drawn(5)
assert len(set(five)) > 1 and min(five) > 0 and drawn(3) == five[:3], five
parts = middle("--kv-len=4096", "--splits=2")
assert parts > long / 2, (parts, long)
