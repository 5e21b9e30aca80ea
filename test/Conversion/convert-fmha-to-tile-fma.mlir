// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_90a' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a})' | FileCheck %s --check-prefixes=PTX,HOPPER
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_100a})' | FileCheck %s --check-prefixes=PTX,BLACKWELL

// Attention of f32 becomes a kernel of plain threads, which later passes on tiles do not touch.

// CHECK: fmha.attention {{.*}}fmha.kernel = @fmha_fwd_kernel::@fmha_fwd
// CHECK-SAME: schedule = #fmha.schedule<target = "sm_90a", family = fma, q_tiles = 1, q_tile_rows = 4, kv_block = 256, pack_heads = 4,
// CHECK-SAME: p_placement = smem
// CHECK-SAME: roles = [#fmha.role<"compute", first_warp = 0, warps = 4, registers = 168>]
// CHECK: gpu.module @fmha_fwd_kernel
// CHECK: llvm.mlir.global external @fmha_shared_memory() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// Pointers of q, k, v, o, LSE and kv_lens; strides of the first five; four extents.
// CHECK: llvm.func @fmha_fwd(%{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>,
// CHECK-SAME: %{{[^:]*}}: i32, %{{[^:]*}}: i32, %{{[^:]*}}: i32, %{{[^:]*}}: i32)
// CHECK-SAME: fmha.problem = #fmha.problem<dtype = f32
// CHECK-SAME: fmha.schedule
// CHECK-SAME: nvvm.maxnreg = 168 : i32
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// Queries to shared memory.
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier
// The loop over blocks: scores with their maximum, exponentials, and the output.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: math.fma
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.maxnumf
// CHECK: nvvm.barrier
// CHECK: scf.for
// CHECK: math.exp2
// CHECK: nvvm.barrier
// CHECK: scf.for
// CHECK: math.fma
// CHECK-NOT: tile.
// CHECK: llvm.return

// PTX: gpu.binary @fmha_fwd_kernel
// PTX-SAME: \22name\22: \22k_stride_row\22
// PTX-SAME: schedule: q_tiles=1 q_tile_rows=4
// HOPPER-SAME: .target sm_90a
// BLACKWELL-SAME: .target sm_100a
// PTX-SAME: .reqntid 128
// PTX-SAME: ld.global.v{{[24]}}
// PTX-SAME: shfl.sync.bfly
// PTX-SAME: fma.rn
func.func @decode(%q: memref<?x1x8x128xf32>, %k: memref<?x?x2x128xf32>, %v: memref<?x?x2x128xf32>, %o: memref<?x1x8x128xf32>, %l: memref<?x8x1xf32>,
                  %n: memref<?xi32>) {
  fmha.attention ins(%q, %k, %v : memref<?x1x8x128xf32>, memref<?x?x2x128xf32>, memref<?x?x2x128xf32>) kv_lens(%n : memref<?xi32>)
      outs(%o, %l : memref<?x1x8x128xf32>, memref<?x8x1xf32>)
  return
}
