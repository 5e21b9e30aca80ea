// The pass makes the graph of a loop from ops, places and SSA values, without looking for attention. Clocks are those of the cost model:
// a product of 128 x 128 x 64 is 4 instructions of 64.6 clocks, 64 KiB of scores take 65536 / 228 clocks of tensor memory, P half of that.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph)))' 2>&1 >/dev/null | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph{fused=true})))' 2>&1 >/dev/null | FileCheck %s --check-prefix=FUSED
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=dot})))' 2>&1 >/dev/null | FileCheck %s --check-prefix=DOT
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=json})))' 2>&1 >/dev/null | FileCheck %s --check-prefix=JSON
// The kernel does not change.
// RUN: fmha-opt %s > %t.before
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-print-loop-graph)))' 2>/dev/null | diff - %t.before

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
!w = !tile.view<?x64xbf16>
!a = !tile.tile<128x64xbf16, #tile.smem<offset = 0>>
!b = !tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>
!acc = !tile.tile<128x128xf32, #tile.tmem<column = 256>>
!x = !tile.tile<128x128xf32, #tile.registers>
!h = !tile.tile<128x128xbf16, #tile.registers>
!p = !tile.tile<128x128xbf16, #tile.tmem<column = 64>>
!row = !tile.tile<128xf32, #tile.registers>
!v = !tile.tile<128x128xbf16, #tile.smem<offset = 16384, stages = 3>>

gpu.module @chain {
  gpu.func @chain(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %k, %c1 : !t
    %qs = tile.view %q batch %c0 head %c0 rows %n : !t -> !w
    %ks = tile.view %k batch %c0 head %c0 rows %n : !t -> !w
    %vs = tile.view %v batch %c0 head %c0 rows %n : !t -> !w
    %os = tile.view %o batch %c0 head %c0 rows %n : !t -> !w
    %rows = tile.view %lse batch %c0 head %c0 rows %n : memref<?x?x?xf32> -> !tile.view<?xf32>
    %a = tile.load %qs[%c0] : !w -> !a
    %zero = tile.fill 0.0 : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile.tile<128x64xf32, #tile.tmem<column = 256>>) {
      %b = tile.load %ks[%i] : !w -> !b
      %c = tile.load %vs[%i] : !w -> !b
      %d = tile.dot %a, %b transpose_b : !a, !b -> !s
      %x = tile.move %d : !s to !x
      %h = tile.cast %x : !x to !h
      %p = tile.move %h : !h to !p
      %e = tile.dot %p, %c plus %sum as !tile.tile<128x64xf32, #tile.tmem<column = 256>> : !p, !b -> !tile.tile<128x64xf32, #tile.tmem<column = 256>>
      scf.yield %e : !tile.tile<128x64xf32, #tile.tmem<column = 256>>
    }
    gpu.return
  }
}

// CHECK: load0: load, 234 clk
// CHECK: load1: load, 234 clk
// CHECK: dot0: mma, 258 clk, MMA 258, SMEM 256
// CHECK: move0: softmax*, 287 clk, TMEM 287, registers of move0
// CHECK: cast0: softmax*, 128 clk, ALU 128, registers of move0
// CHECK: move1: softmax*, 144 clk, TMEM 144, registers of move0
// CHECK: dot1: mma, {{[0-9]+}} clk
// A value, with the latency between the two units.
// CHECK-DAG: load0 -> dot0: distance 0, latency 700
// CHECK-DAG: dot0 -> move0: distance 0, latency 136
// CHECK-DAG: move0 -> cast0: distance 0, latency 200
// CHECK-DAG: move1 -> dot1: distance 0, latency 120
// CHECK-DAG: dot1 -> dot1: distance 1, latency 0
// The next scores overwrite these scores and P, which lies over them, so they wait until both are read.
// CHECK-DAG: move0 ~> dot0: distance 1, latency 0
// CHECK-DAG: dot1 ~> dot0: distance 1, latency 136
// A ring of three stages: message n + 3 takes the slot of message n. Messages of K have even numbers, those of V odd ones.
// CHECK-DAG: dot0 ~> load1: distance 1, latency 136
// CHECK-DAG: dot1 ~> load0: distance 2, latency 136
// CHECK-DAG: load0 -> load1: distance 0, latency 0
// CHECK-DAG: load1 -> load0: distance 1, latency 0
// Scores are 128 registers of a thread, and P takes their place.
// CHECK: move0: 0 + 128 registers

// From the load of the scores to the store of P the thread waits for nothing.
// FUSED: move0: softmax*, {{[0-9]+}} clk
// FUSED-NOT: cast0:
// FUSED-NOT: move1:
// FUSED: move0 -> dot1: distance 0, latency 120

// DOT: digraph loop {
// DOT: dot0 [label="dot0\nmma\n258 clk"];
// DOT: dot1 -> dot0 [label="1", style=dashed];

// JSON: "executor": "mma"
