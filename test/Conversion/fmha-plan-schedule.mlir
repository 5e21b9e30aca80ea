// Every attention op gets a schedule; one that was written by hand stays.

// RUN: fmha-opt %s --fmha-plan-schedule | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule=target=sm_103a | FileCheck %s --check-prefix=B300
// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 kv-stages=2 p-placement=smem' | FileCheck %s --check-prefix=ASKED
// RUN: fmha-opt %s --fmha-plan-schedule='q-tile-rows=128 key-chunk=0 value-chunk=0 v-stages=0 o-columns=0 share-kv=0' | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule=p-slices=4 | FileCheck %s --check-prefix=SLICES
// RUN: fmha-opt %s --fmha-plan-schedule | fmha-opt --fmha-plan-schedule | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule | FileCheck %s --check-prefix=FEW
// RUN: fmha-opt %s --fmha-plan-schedule='q-len=100' | FileCheck %s --check-prefix=SHORT
// RUN: fmha-opt %s --fmha-plan-schedule='batch=1 q-len=256 kv-len=256 q-heads=2 kv-heads=2' | FileCheck %s --check-prefixes=HINTED,FEW
// RUN: fmha-opt %s --fmha-plan-schedule='batch=9 q-len=9000 kv-len=9000 q-heads=99 kv-heads=99' | FileCheck %s --check-prefixes=CHECK,FEW

!t = tensor<1x?x2x64xf16>

// CHECK-LABEL: func.func @planned
// CHECK: fmha.attention
// CHECK-SAME: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 2,
// CHECK-SAME: p_placement = tmem
// All tasks have warps, and TMA and MMA one each.
// CHECK-SAME: #fmha.role<"softmax0", first_warp = 0, warps = 4,
// CHECK-SAME: #fmha.role<"load", first_warp = {{[0-9]+}}, warps = 1,
// CHECK-SAME: #fmha.role<"mma", first_warp = {{[0-9]+}}, warps = 1,
// B300-LABEL: func.func @planned
// B300: schedule = #fmha.schedule<target = "sm_103a"
// ASKED-LABEL: func.func @planned
// ASKED: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 1,
// ASKED-SAME: kv_stages = 2, {{.*}}p_placement = smem
// SLICES-LABEL: func.func @planned
// SLICES: p_slices = 4
// A second query tile would have no rows of 100.
// SHORT-LABEL: func.func @planned
// SHORT: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 1,
// The lengths of @few as hints choose as its types do; against those they say nothing.
// HINTED-LABEL: func.func @planned
// HINTED: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 1, q_tile_rows = 64,
func.func @planned(%q: !t, %k: !t, %v: !t) -> !t {
  %o = fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%q : !t) -> !t
  return %o : !t
}

// Two ops are planned apart: the wide one has blocks of 80 keys, with which P of
// two tiles has columns of its own, and loads V apart from the K that holds it.
// CHECK-LABEL: func.func @wide
// CHECK: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 2,
// CHECK-SAME: kv_block = 80,
// CHECK-SAME: cta_group = 1, kv_stages = 8,
// CHECK-SAME: share_kv = false,
func.func @wide(%x: memref<1x?x32x128xbf16>, %o: memref<1x?x32x128xbf16>) {
  fmha.attention ins(%x, %x, %x : memref<1x?x32x128xbf16>, memref<1x?x32x128xbf16>, memref<1x?x32x128xbf16>)
      outs(%o : memref<1x?x32x128xbf16>)
  return
}

// 2 x 256 rows would leave all but two SMs idle: tiles of 64 rows keep eight busy.
// FEW-LABEL: func.func @few
// FEW: schedule = #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 1, q_tile_rows = 64,
!few = memref<1x256x2x64xf16>
func.func @few(%x: !few, %o: !few) {
  fmha.attention ins(%x, %x, %x : !few, !few, !few) outs(%o : !few)
  return
}
