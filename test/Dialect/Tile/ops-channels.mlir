// The ops of the specialised level, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!kv = !tile.tile<128x64xbf16, #tile.smem<offset = 0, stages = 3>>
!s = !tile.tile<128x128xf32, #tile.tmem<column = 0>>

// CHECK-LABEL: func.func @roles
func.func @roles(%n: index) {
  // CHECK: %[[KV:.*]] = tile.channel "kv" from tma to mma arrivals 1, 1 : <<128x64xbf16, #tile.smem<offset = 0, stages = 3>>>
  %kv = tile.channel "kv" from tma to mma arrivals 1, 1 : !tile.channel<!kv>
  // CHECK: tile.channel "s" from mma to threads arrivals 1, 128 released_by "p" :
  %s = tile.channel "s" from mma to threads arrivals 1, 128 released_by "p" : !tile.channel<!s>
  // CHECK: tile.channel "o" from threads to tma arrivals 128, 1 unreleased :
  %o = tile.channel "o" from threads to tma arrivals 128, 1 unreleased : !tile.channel<!kv>
  // CHECK: tile.warp_specialize {
  tile.warp_specialize {
    // CHECK-NEXT: tile.role "load" warps 0 to 1 registers 48 single_thread {
    tile.role "load" warps 0 to 1 registers 48 single_thread {
      // CHECK-NEXT: tile.acquire %[[KV]][%{{.*}}] : <<128x64xbf16, {{.*}}>>> -> <128x64xbf16,
      %slot = tile.acquire %kv[%n] : !tile.channel<!kv> -> !kv
      // CHECK-NEXT: tile.publish %[[KV]][%{{.*}}] : <<128x64xbf16,
      tile.publish %kv[%n] : !tile.channel<!kv>
    }
    // CHECK: tile.role "mma" warps 1 to 4 registers 48 {
    tile.role "mma" warps 1 to 4 registers 48 {
      // CHECK-NEXT: tile.receive %[[KV]][%{{.*}}] : <<128x64xbf16, {{.*}}>>> -> <128x64xbf16,
      %k = tile.receive %kv[%n] : !tile.channel<!kv> -> !kv
      // CHECK-NEXT: tile.release %[[KV]][%{{.*}}] : <<128x64xbf16,
      tile.release %kv[%n] : !tile.channel<!kv>
    }
  }
  return
}

// CHECK-LABEL: func.func @trips
func.func @trips(%own: index, %all: index) -> (index, index) {
  // CHECK: %[[COMPUTED:.*]], %[[SKIPPED:.*]] = tile.split_trips %{{.*}} of %{{.*}}
  %computed, %skipped = tile.split_trips %own of %all
  // CHECK: return %[[COMPUTED]], %[[SKIPPED]]
  return %computed, %skipped : index, index
}
