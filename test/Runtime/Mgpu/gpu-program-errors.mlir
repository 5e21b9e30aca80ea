// An error in a kernel ends the program with a message where it next waits: two
// threads that store different values to one element, and a store past the end
// of a buffer.

// REQUIRES: compiler
// RUN: mlir-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,nvvm-attach-target{chip=sm_90 features=+ptx80},gpu.module(convert-gpu-to-nvvm),gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=isa})' -o %t.mlir
// RUN: env FMHA_DRIVER=libptxsim.so not mlir-runner %t.mlir -e race --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_c_runner_utils.so > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=RACE < %t.err
// RUN: FileCheck %s --check-prefix=PRINTED < %t.out
// RUN: env FMHA_DRIVER=libptxsim.so not mlir-runner %t.mlir -e outside --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_c_runner_utils.so > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=OUTSIDE < %t.err
// RUN: FileCheck %s --check-prefix=PRINTED < %t.out
// RUN: env FMHA_DRIVER=/nowhere/libnone.so not mlir-runner %t.mlir -e race --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_c_runner_utils.so 2>&1 | FileCheck %s --check-prefix=LIBRARY

// RACE: error [{{.*}}race{{.*}}]
// RACE: libfmha_mgpu: cuStreamSynchronize failed with CUDA_ERROR_LAUNCH_FAILED
// RACE-SAME: PTXSIM_REPORT
// OUTSIDE: error [out-of-bounds]
// OUTSIDE: libfmha_mgpu: cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS
// LIBRARY: libfmha_mgpu: cannot load '/nowhere/libnone.so'
// LIBRARY-SAME: FMHA_DRIVER

// What was printed before the error is there, and nothing after it.
// PRINTED: 7
// PRINTED-NOT: 8

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @storeThread(%a: memref<4xi32>, %at: index, %step: index) kernel {
      %thread = gpu.thread_id x
      %offset = arith.muli %thread, %step : index
      %i = arith.addi %at, %offset : index
      %value = arith.index_cast %thread : index to i32
      memref.store %value, %a[%i] : memref<4xi32>
      gpu.return
    }
  }

  func.func private @run(%at: index, %step: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %before = arith.constant 7 : i64
    %after = arith.constant 8 : i64
    call @printI64(%before) : (i64) -> ()
    call @printNewline() : () -> ()
    %t0 = gpu.wait async
    %a, %t1 = gpu.alloc async [%t0] () : memref<4xi32>
    %t2 = gpu.launch_func async [%t1] @kernels::@storeThread
      blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
      args(%a : memref<4xi32>, %at : index, %step : index)
    gpu.wait [%t2]
    call @printI64(%after) : (i64) -> ()
    return
  }
  func.func @race() {
    %c0 = arith.constant 0 : index
    call @run(%c0, %c0) : (index, index) -> ()
    return
  }
  func.func @outside() {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    call @run(%c3, %c1) : (index, index) -> ()
    return
  }
  func.func private @printI64(i64)
  func.func private @printNewline()
}
