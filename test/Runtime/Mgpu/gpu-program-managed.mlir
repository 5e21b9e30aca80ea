// Memory that host and kernels share: managed (gpu.alloc host_shared), and a
// registered buffer of the host. Nothing is copied.

// REQUIRES: compiler
// RUN: mlir-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,nvvm-attach-target{chip=sm_90 features=+ptx80},gpu.module(convert-gpu-to-nvvm),gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=isa})' -o %t.mlir
// RUN: env FMHA_DRIVER=libptxsim.so mlir-runner %t.mlir -e main --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_runner_utils.so,%llvm-lib/libmlir_c_runner_utils.so | FileCheck %s

// CHECK: sizes = [5]
// CHECK-NEXT: [10, 11, 12, 13, 14]
// CHECK: sizes = [5]
// CHECK-NEXT: [0, 1, 2, 3, 4]

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Swaps the elements.
    gpu.func @swap(%a: memref<5xi32>, %b: memref<5xi32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<5xi32>
      %y = memref.load %b[%i] : memref<5xi32>
      memref.store %y, %a[%i] : memref<5xi32>
      memref.store %x, %b[%i] : memref<5xi32>
      gpu.return
    }
  }

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %ten = arith.constant 10 : i32
    %managed = gpu.alloc host_shared () : memref<5xi32>
    %own = memref.alloc() : memref<5xi32>
    %registered = memref.cast %own : memref<5xi32> to memref<*xi32>
    gpu.host_register %registered : memref<*xi32>
    scf.for %i = %c0 to %c5 step %c1 {
      %small = arith.index_cast %i : index to i32
      %large = arith.addi %small, %ten : i32
      memref.store %small, %managed[%i] : memref<5xi32>
      memref.store %large, %own[%i] : memref<5xi32>
    }
    gpu.launch_func @kernels::@swap blocks in (%c1, %c1, %c1) threads in (%c5, %c1, %c1)
      args(%managed : memref<5xi32>, %own : memref<5xi32>)
    %print = memref.cast %managed : memref<5xi32> to memref<*xi32>
    call @printMemrefI32(%print) : (memref<*xi32>) -> ()
    gpu.host_unregister %registered : memref<*xi32>
    call @printMemrefI32(%registered) : (memref<*xi32>) -> ()
    memref.dealloc %own : memref<5xi32>
    %t0 = gpu.wait async
    %t1 = gpu.dealloc async [%t0] %managed : memref<5xi32>
    gpu.wait [%t1]
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
