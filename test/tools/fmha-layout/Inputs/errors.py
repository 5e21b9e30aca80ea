"""Calls fmha-layout with bad input. Each must exit with 2 and print one message with the words given here."""

import subprocess
import sys

CASES = [
    ([""], "expected an expression or a file, got nothing"),
    (["(4,8"], "column 5: expected ')', got the end"),
    (["(4,8):(1,2,3)"], "expected a stride for each extent of (4,8), got the strides (1,2,3)"),
    (["(4,8) 7"], "column 7: expected the end, got '7'"),
    (["(0,8):(1,1)"], "expected extents of at least 1, got (0,8)"),
    (["size((99999999999,99999999999))"], "expected numbers below 2^63"),
    (["foo((8,8))"], "column 1: expected a function, got 'foo'; fmha-layout --help lists them"),
    (["bar"], "got 'bar'; fmha-layout --help lists them"),
    (["coalesce((8,8), 1, 2)"], "coalesce: expected 1 to 2 arguments, got 3"),
    (["size(_)"], "size: expected a layout, such as (4,8):(8,1), got a tiler"),
    (["composition((6,4):(1,10), 4:4)"], "column 1: composition: expected strides and extents in 4:4 that divide"),
    (["complement((2,3):(1,1), 24)"], "complement: expected strides that are multiples"),
    (["mma_m16n8k5_f32_f16"], "expected a product, one of mma_m16n8k8_f32_f16"),
    (["tiled_copy(copy_128, (8,4), (1,4))"], "copy_128: expected a multiple of 8 values of 16 bits for each thread, got 4"),
    (["tiled_mma(mma_m16n8k16_f32_f16, 4)"], "expected a layout of atoms along M, N and K, such as (4,1,1), got 4:1"),
    (["swizzle(3,4,2, (8,8))"], "a shift of at least the bits"),
    (["banks((8,64):(64,1), 16, 48)"], "accesses of 8 to 128 bits, a power of two, got 16 and 48"),
    (["banks((8,64):(65,1))"], "contiguous and aligned bits"),
    (["owners((4,2):(1,4), 4)"], "expected a tile that holds the 8 elements of (4,2):(1,4), got 4"),
    (["(1024,1024):(1024,1)"], "expected at most 16384 cells, got 1048576"),
    (["size((8,8))", "--print=svg"], "--print=svg: expected a layout, a tiled copy or a tiled product, got 64"),
    (["(4,8)", "--print=pdf"], "--print: expected text, line, svg, latex or json, got 'pdf'"),
    (["(4,8)", "--output=/nowhere/a.svg"], "cannot write '/nowhere/a.svg': No such file"),
    (["a = (8,8)\nb = (4,\nx)"], "line 3, column 1: expected a layout, a function, an instruction or a name"),
    (["(" * 5000], "nested values"),
    (["(4,8):(8,1)" + " " * 70000], "expected at most 65536 characters"),
    (["mode((4,8), -1)"], "expected a mode below 2"),
    (["owners((1000000000,1):(0,0), 4)"], "expected at most 1048576 values of all threads, got 1000000000"),
    (["banks(tiled_copy(copy_128, (32,64), (1,8)), (32,512):(512,1))"], "banks: expected at most 1024 threads, got 2048"),
    (["--frob"], ""),
]


def main():
    failed = 0
    for arguments, expected in CASES:
        done = subprocess.run(["fmha-layout", *arguments], capture_output=True, text=True)
        if done.returncode != 2 or done.stdout or expected not in done.stderr:
            failed += 1
            print(f"{arguments!r:.100}: expected exit code 2 and {expected!r}, got {done.returncode} and {done.stderr!r:.300}", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} of {len(CASES)} cases failed")
    print(len(CASES), "refusals")


main()
