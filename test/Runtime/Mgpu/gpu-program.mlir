// A program of the gpu dialect, lowered by stock passes alone, runs on the
// simulator through libfmha_mgpu.so.

// REQUIRES: compiler
// RUN: mlir-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,nvvm-attach-target{chip=sm_90 features=+ptx80},gpu.module(convert-gpu-to-nvvm),gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=isa})' -o %t.mlir
// RUN: env FMHA_DRIVER=libptxsim.so mlir-runner %t.mlir -e main --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_runner_utils.so,%llvm-lib/libmlir_c_runner_utils.so | FileCheck %s

// 19 elements, twice their index each, by two blocks of 16 threads.
// CHECK: sizes = [19]
// CHECK-NEXT: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36]

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<?xi32>, %b: memref<?xi32>, %sum: memref<?xi32>) kernel {
      %block = gpu.block_id x
      %width = gpu.block_dim x
      %thread = gpu.thread_id x
      %zero = arith.constant 0 : index
      %n = memref.dim %sum, %zero : memref<?xi32>
      %first = arith.muli %block, %width : index
      %i = arith.addi %first, %thread : index
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %x = memref.load %a[%i] : memref<?xi32>
        %y = memref.load %b[%i] : memref<?xi32>
        %z = arith.addi %x, %y : i32
        memref.store %z, %sum[%i] : memref<?xi32>
      }
      gpu.return
    }
  }

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %n = arith.constant 19 : index
    %host = memref.alloc(%n) : memref<?xi32>
    scf.for %i = %c0 to %n step %c1 {
      %value = arith.index_cast %i : index to i32
      memref.store %value, %host[%i] : memref<?xi32>
    }
    %t0 = gpu.wait async
    %a, %t1 = gpu.alloc async [%t0] (%n) : memref<?xi32>
    %sum, %t2 = gpu.alloc async [%t1] (%n) : memref<?xi32>
    %t3 = gpu.memcpy async [%t2] %a, %host : memref<?xi32>, memref<?xi32>
    %t4 = gpu.launch_func async [%t3] @kernels::@add
      blocks in (%c2, %c1, %c1) threads in (%c16, %c1, %c1)
      args(%a : memref<?xi32>, %a : memref<?xi32>, %sum : memref<?xi32>)
    %t5 = gpu.memcpy async [%t4] %host, %sum : memref<?xi32>, memref<?xi32>
    %t6 = gpu.dealloc async [%t5] %a : memref<?xi32>
    %t7 = gpu.dealloc async [%t6] %sum : memref<?xi32>
    gpu.wait [%t7]
    %unranked = memref.cast %host : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%unranked) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
