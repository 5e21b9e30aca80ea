"""loaded_bytes.py FOLDER FLAGS...: compiles FLAGS and prints the bytes that TMA loads in
one CTA with 128 queries and 300 keys, as the simulator sees the load warp announce
them: the operands of its mbarrier.arrive.expect_tx."""

import json
import pathlib
import re
import subprocess
import sys

QUERIES, KEYS = 128, 300
folder, flags = pathlib.Path(sys.argv[1]), sys.argv[2:]


def compiled(kind):
    return subprocess.run(["fmha-compile", *flags, f"--emit={kind}"], check=True, capture_output=True, text=True).stdout


def arguments(manifest):
    """A buffer and a map for each tensor, then the numbers."""
    words = []
    extents = dict(manifest, q_len=QUERIES, kv_len=KEYS, q_heads=1, kv_heads=1, batch=1)
    for parameter in manifest["parameters"]:
        if parameter["kind"] != "tensor_map":
            words.append(f"--arg=u32:{extents[parameter['value']]}")
            continue
        dims = [extents[dim] for dim in parameter["dims"]]
        path = folder / f"{parameter['name']}.json"
        row = 2 * dims[0]
        path.write_text(json.dumps({
            "tensor": len(words) // 2, "tensorDataType": "BFLOAT16", "tensorRank": 4, "globalDim": dims,
            "globalStrides": [row, row * dims[1], row * dims[1]], "boxDim": parameter["box"], "swizzle": "128B",
        }))  # fmt: skip
        words += [f"--arg=zero:{row * dims[1]}", f"--arg=tmap:{path}"]
    return words


def main():
    (folder / "kernel.ptx").write_text(compiled("ptx"))
    manifest = json.loads(compiled("manifest"))
    load = next(role["first_warp"] for role in manifest["roles"] if role["name"] == "load")
    done = subprocess.run(
        ["ptx-sim", folder / "kernel.ptx", "--grid=1", f"--block={manifest['block'][0]}",
         f"--smem={manifest['smem_bytes']}", f"--trace-warp=0:{load}", "--trace-limit=100000", *arguments(manifest)],
        capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    registers, announced = {}, []
    for line in done.stderr.splitlines():
        if wrote := re.search(r"\s(%r\d+), .*  = (0x[0-9a-f]+)", line):
            registers[wrote[1]] = int(wrote[2], 16)
        if "mbarrier.arrive.expect_tx" in line:
            announced.append(registers[re.findall(r"%r\d+", line)[-1]])
    print(len(announced), "messages,", sum(announced), "bytes:", *announced)


main()
