// A kernel goes into the module nearest to its op. The pipeline on the root compiles the ops of all
// modules, on one module those of that one. A second run changes nothing.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx)' -o %t.mlir && FileCheck %s < %t.mlir
// RUN: fmha-opt %t.mlir --pass-pipeline='builtin.module(fmha-to-ptx)' | diff %t.mlir -
// RUN: fmha-opt %s --pass-pipeline='builtin.module(builtin.module(fmha-to-ptx))' | FileCheck %s --check-prefix=INNER

// The passes alone do the same.
// RUN: fmha-opt %s --fmha-plan-schedule --convert-fmha-to-tile | FileCheck %s --check-prefix=TILED

!t = memref<1x256x2x64xf16>

// CHECK: module attributes {gpu.container_module} {
// CHECK: @root
// CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// INNER: @root
// INNER: fmha.attention
// INNER-NOT: fmha.kernel
// INNER: module @inner attributes {gpu.container_module} {
// INNER: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// INNER: gpu.binary @fmha_fwd_kernel {fmha.manifest =
// TILED: module attributes {gpu.container_module} {
// TILED: @root
// TILED: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
func.func @root(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
  return
}

// CHECK: module @inner attributes {gpu.container_module} {
// CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// TILED: module @inner attributes {gpu.container_module} {
// TILED: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
module @inner {
  func.func @attention(%x: !t, %o: !t) {
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
    return
  }
  // CHECK: module @innermost attributes {gpu.container_module} {
  // CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
  // CHECK: gpu.binary @fmha_fwd_kernel {fmha.manifest =
  // TILED: module @innermost attributes {gpu.container_module} {
  // TILED: fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
  // TILED: gpu.module @fmha_fwd_kernel
  module @innermost {
    func.func @attention(%x: !t, %o: !t) {
      fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {mask = #fmha.mask<causal>}
      return
    }
  }
  // CHECK: gpu.binary @fmha_fwd_kernel {fmha.manifest =
  // TILED: gpu.module @fmha_fwd_kernel
}

// A module without ops gets no kernels.
// CHECK: module @empty {
// TILED: module @empty {
module @empty {
  func.func private @nothing()
}
// CHECK: gpu.binary @fmha_fwd_kernel {fmha.manifest =
// TILED: gpu.module @fmha_fwd_kernel
