// From an op to PTX in a gpu.binary, for each target and with each option.

// RUN: fmha-opt %s --fmha-to-ptx | FileCheck %s
// RUN: fmha-opt %s --fmha-to-ptx=target=sm_103a | FileCheck %s --check-prefix=B300
// RUN: fmha-opt %s --fmha-to-ptx='p-placement=smem q-tiles=1 kv-stages=3' | FileCheck %s --check-prefix=ASKED
// RUN: not fmha-opt %s --fmha-to-ptx=p-placement=l2 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not fmha-opt %s --fmha-to-ptx=target=sm_90 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not fmha-opt %s --fmha-to-ptx=p-placement=registers 2>&1 | FileCheck %s --check-prefix=REGISTERS

// CHECK: fmha.attention
// CHECK-SAME: schedule = #fmha.schedule<
// CHECK-NOT: gpu.module
// CHECK: gpu.binary @fmha_fwd_kernel
func.func @attention(%x: memref<1x256x2x64xf16>, %o: memref<1x256x2x64xf16>) {
  fmha.attention ins(%x, %x, %x : memref<1x256x2x64xf16>, memref<1x256x2x64xf16>, memref<1x256x2x64xf16>)
      outs(%o : memref<1x256x2x64xf16>)
  return
}
// CHECK-SAME: // fmha {{[0-9.]+}}, target sm_100a
// CHECK-SAME: .entry fmha_fwd(
// B300: // fmha {{[0-9.]+}}, target sm_103a
// B300-SAME: .target sm_103a
// ASKED: q_tiles=1 {{.*}} kv_stages=3 p_placement=smem
// WORD: l2
// TARGET: fmha-to-ptx.mlir:{{[0-9]+}}:3: error: {{.*}}sm_90
// REGISTERS: fmha-to-ptx.mlir:{{[0-9]+}}:3: error: {{.*}}p_placement registers is not available
