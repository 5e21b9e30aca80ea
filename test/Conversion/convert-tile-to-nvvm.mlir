// The function: its parameters are what the launch manifest lists.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>

// Dynamic shared memory, aligned to what the 128-byte swizzle repeats in.
// CHECK: gpu.module @kernels
// CHECK: llvm.mlir.global external @fmha_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// q, k, v and o are tensor maps of 128 bytes, passed by value and 64-byte aligned.
// CHECK: llvm.func @plain(
// CHECK-SAME: %arg0: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %arg3: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// Then q_len, kv_len, q_heads and kv_heads.
// CHECK-SAME: %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32)
// 65536 / 512 = 128 registers are what setmaxnreg counts from.
// CHECK-SAME: nvvm.kernel, nvvm.maxnreg = 128 : i32, nvvm.reqntid = array<i32: 512, 1, 1>
gpu.module @kernels {
  gpu.func @plain(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK: %[[QLEN:.*]] = arith.index_castui %arg4
    %0 = memref.dim %q, %c1 : !t
    // CHECK: %[[KVLEN:.*]] = arith.index_castui %arg5
    %1 = memref.dim %k, %c1 : !t
    // CHECK: %[[HEADS:.*]] = arith.index_castui %arg6
    %2 = memref.dim %q, %c2 : !t
    // CHECK: %[[KVHEADS:.*]] = arith.index_castui %arg7
    %3 = memref.dim %v, %c2 : !t
    // CHECK: %[[X:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
    %b = gpu.block_id x
    // CHECK: nvvm.read.ptx.sreg.tid.x : i32
    %t = gpu.thread_id x
    // CHECK: cp.async.bulk.tensor.global.shared.cta %arg3
    %p = tile.smem_address 0 : !llvm.ptr<3>
    tile.tma_store %p to %o[%0, %1, %2] column 64 : !llvm.ptr<3>, !t
    // CHECK: llvm.return
    gpu.return
  }

  // With an LSE its pointer and its strides of batch, head and row come in between.
  // CHECK: llvm.func @lse(
  // CHECK-SAME: %arg4: !llvm.ptr<1>, %arg5: i64, %arg6: i64, %arg7: i64, %arg8: i32, %arg9: i32, %arg10: i32, %arg11: i32)
  gpu.func @lse(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    // CHECK: %[[B:.*]] = arith.index_castui %{{.*}} : i32 to index
    %b = gpu.block_id x
    // CHECK: %[[R:.*]] = arith.index_castui %arg8
    %c1 = arith.constant 1 : index
    %r = memref.dim %q, %c1 : !t
    // log2 of the target: there is no library to call.
    // CHECK: %[[VALUE:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
    %i = arith.index_cast %b : index to i32
    %x = arith.uitofp %i : i32 to f32
    %v0 = math.log2 %x : f32
    // Another thread of the warp: all 32 take part, lanes differ in bit 4.
    // CHECK-DAG: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32)
    // CHECK-DAG: %[[CLAMP:.*]] = llvm.mlir.constant(31 : i32)
    // CHECK: nvvm.shfl.sync bfly %[[ALL]], %[[VALUE]], %{{.*}}, %[[CLAMP]] : f32 -> f32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %v1, %valid = gpu.shuffle xor %v0, %c16, %c32 : f32
    // Offsets are counted in 64 bits: b x stride + b x stride + r x stride elements.
    // CHECK: llvm.mul %{{.*}}, %arg5 : i64
    // CHECK: llvm.mul %{{.*}}, %arg6 : i64
    // CHECK: llvm.mul %{{.*}}, %arg7 : i64
    // CHECK: %[[AT:.*]] = llvm.getelementptr %arg4[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK: llvm.store %[[VALUE]], %[[AT]]
    memref.store %v0, %l[%b, %b, %r] : !l
    gpu.return
  }
}
