"""Prints a program whose loop adds many products, each of a separate tile, to one accumulator.

long_chain.py COUNT TARGET
"""

import sys

HEAD = """
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!v = !tile.view<?x64xbf16>
!x = !tile.tile<ROWSx64xbf16>
!y = !tile.tile<64x64xbf16>
!acc = !tile.tile<ROWSx64xf32>
gpu.module @programs {
  gpu.func @chain(%a: !t, %b: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "TARGET">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %na = memref.dim %a, %c1 : !t
    %nb = memref.dim %b, %c1 : !t
    %va = tile.view %a batch %c0 head %c0 rows %na : !t -> !v
    %vb = tile.view %b batch %c0 head %c0 rows %nb : !t -> !v
    %vo = tile.view %o batch %c0 head %c0 rows %na : !t -> !v
    %ta = tile.load %va[%c0] : !v -> !x
    %zero = tile.fill 0.0 : !acc
    %sum = scf.for %i = %c0 to %nb step %c1 iter_args(%s0 = %zero) -> (!acc) {"""
TERM = """
      %t{n} = tile.load %vb[%i] {{tile.region = #tile.region<name = "B">}} : !v -> !y
      %s{n} = tile.dot %ta, %t{n} transpose_b plus %s{before} as !acc : !x, !y -> !acc"""
TAIL = """
      scf.yield %s{count} : !acc
    }}
    %h = tile.cast %sum : !acc to !x
    tile.store %h, %vo[%c0] : !x, !v
    gpu.return
  }}
}}"""


def main():
    count, target = int(sys.argv[1]), sys.argv[2]
    rows = {"sm_90a": 64, "sm_100a": 128}[target]
    print(HEAD.replace("ROWS", str(rows)).replace("TARGET", target), end="")
    for n in range(1, count + 1):
        print(TERM.format(n=n, before=n - 1), end="")
    print(TAIL.format(count=count))


if __name__ == "__main__":
    main()
