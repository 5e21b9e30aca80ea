"""launches.py SEED COUNT: kernels of random launches are explained as they are launched.

The CTAs of --explain's launch line are those that the manifest's grid gives, and each field of the schedule that is not as usual stands in the
PTX's heading with the value that the IR has."""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

FIRST = ["q_tiles", "q_tile_rows", "kv_block", "kv_stages", "p_placement", "p_slices", "rescale_threshold"]
# Said elsewhere in the heading, or of one value alone.
ELSEWHERE = ["target", "accumulate"]


def compile_to(folder, flags, emit):
    out = folder / "out"
    done = subprocess.run(["fmha-compile", *flags, *emit, "-o", out], capture_output=True, text=True)
    return done, out.read_text() if done.returncode == 0 else ""


def ctas_of(manifest, values):
    product = 1
    for factor in manifest["grid"]["x"]:
        if isinstance(factor, dict):
            name, size = factor["ceil_div"]
            product *= -(-values[name] // size)
        else:
            product *= factor if isinstance(factor, int) else values[factor]
    return min(product, manifest.get("max_ctas", product))


def check(folder, draw):
    group, kv_heads = draw.choice([1, 4, 5]), draw.choice([1, 2, 8])
    values = {"batch": draw.choice([1, 3]), "q_heads": group * kv_heads, "kv_heads": kv_heads, "group": group}
    values |= {"q_len": draw.choice([1, 7, 300, 2000]), "kv_len": draw.choice([100, 3000, 20000])}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if name != "group"]
    flags += [f"--head-dim={draw.choice([64, 128, 512])}", f"--target={draw.choice(['sm_100a', 'sm_90a'])}"]
    flags += draw.choice([["--scheduler=static"], ["--scheduler=single"], []]) + draw.choice([["--splits=3"], ["--splits=1"], []])
    flags += draw.choice([["--causal"], ["--p-offset=5"], ["--exp2-emulated=25"], []])
    explained, ptx = compile_to(folder, flags, ["--explain"])
    if explained.returncode:  # Some cannot be had together.
        return False
    manifest = json.loads(compile_to(folder, flags, ["--emit=manifest"])[1])
    said, there = int(re.search(r"^launch: (\d+) CTAs", explained.stdout, re.M)[1]), ctas_of(manifest, values)
    assert said == there, f"{flags}: {said} CTAs explained, {there} launched"
    assert ("of them the merge kernel" in " ".join(explained.stdout.split())) == ("splits" in manifest), flags

    module = compile_to(folder, flags, ["--emit=mlir", "--compile-to=tiled"])[1]
    text = re.search(r"#fmha.schedule<(.*?), roles", module)[1]
    fields = dict(field.split(" = ") for field in text.split(", "))
    heading = dict(field.split("=", 1) for field in re.search(r"^// schedule: (.*)$", ptx, re.M)[1].split())
    usual = {"family": "mma", "pack_heads": "1", "cta_group": "1", "scheduler": "single", "ctas_per_sm": "1", "splits": "1", "kv_copy": "tma", "share_kv": "false",
             "split_by": "sequence", "mma_order": "commit", "mma_k": "16", "s_stages": "1"}
    for name, value in fields.items():
        if name in ELSEWHERE or (name not in FIRST and value == usual.get(name, "0")):
            continue
        told = heading.get(name)
        same = float(told) == float(value) if told and name == "rescale_threshold" else told == value
        assert same, f"{flags}: {name} is {value}, the heading says {told}"
    return True


seed, count = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)
with tempfile.TemporaryDirectory() as folder:
    done = sum(check(pathlib.Path(folder), draw) for _ in range(count))
print(f"seed {seed}: {done} of {count} kernels, explained as launched")
sys.exit(0 if done > count // 2 else 1)
