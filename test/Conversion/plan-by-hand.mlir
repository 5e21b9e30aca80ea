// A schedule written by hand is kept as it is, if it says the same as the options.

// RUN: fmha-opt %s --fmha-plan-schedule | FileCheck %s
// RUN: fmha-opt %s --fmha-plan-schedule='q-tiles=1 kv-stages=3 p-placement=tmem' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<1x256x2x64xf16>

// The planner would take two tiles and eight stages.
// CHECK: #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 1,
// CHECK-SAME: kv_stages = 3, {{.*}}p_placement = tmem
func.func @by_hand(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #schedule}
  return
}

// Without roles it gets those that the planner takes for one query tile.
// CHECK-LABEL: func.func @without_roles
// CHECK: q_tiles = 1,
// CHECK-SAME: roles = [#fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>
func.func @without_roles(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem>}
  return
}
