// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_90a' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a})' | FileCheck %s --check-prefix=PTX

// An append becomes a kernel of plain threads, with a launch manifest. Ops with the same problem share it.

!n = memref<?x?x8x128xbf16, strided<[?, ?, ?, 1]>>
!c = memref<?x16x8x128xbf16, strided<[?, ?, ?, 1]>>
!q = memref<?x?x32x128xbf16, strided<[?, ?, ?, 1]>>
!a = memref<?x32xf32, strided<[?, 1]>>
// CHECK-LABEL: func.func @append
// CHECK: fmha.append {{.*}}fmha.kernel = @fmha_append_kernel::@fmha_append, target = "sm_90a"
// CHECK: fmha.append {{.*}}fmha.kernel = @fmha_append_kernel::@fmha_append, target = "sm_90a"
// CHECK: fmha.append {{.*}}fmha.kernel = @fmha_append_kernel_0::@fmha_append, target = "sm_90a"
// CHECK: gpu.module @fmha_append_kernel
// CHECK: llvm.func @fmha_append(
// CHECK-SAME: fmha.append = {dtype = "bf16", head_dim = 128 : i64, head_dim_v = 128 : i64, page_size = 16 : i64, query, rotary = "half", rotary_dim = 64 : i64}
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// Four heads of 32 pieces are the threads of a CTA.
// CHECK: arith.cmpi slt, %{{.*}}, %c128_i32
// 16 bytes at once, or one element.
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.call_intrinsic "llvm.nvvm.mul.rn.f"
// CHECK: llvm.store {{.*}} {alignment = 16 : i64}
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: gpu.module @fmha_append_kernel_0
// CHECK: fmha.append = {dtype = "bf16", head_dim = 128 : i64, head_dim_v = 128 : i64}

// Nothing is contracted: the bits are those of the decomposition. A fused operation multiplies by -1 or 1.
// PTX: gpu.binary @fmha_append_kernel
// PTX-SAME: \22append\22: true
// PTX-SAME: append_heads\22,{{[^0-9]*0A[ ]+}}4
// PTX-SAME: .target sm_90a
// PTX-SAME: selp.f32 {{[^ ]*}}%[[SIGN:r[0-9]+]], 0fBF800000, 0f3F800000,
// PTX-SAME: fma.rn.f32 {{[^,]*, %r[0-9]+}}, %[[SIGN]], %r
// PTX: gpu.binary @fmha_append_kernel_0
// PTX-NOT: fma.rn
func.func @append(%k: !n, %lens: memref<?xi32>, %pages: memref<?x?xi32>, %cos: !a, %sin: !a, %q: !q, %r: !q, %keys: !c, %values: !c,
                  %dense: !n, %dense_v: !n) {
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
      rotary half(%cos, %sin : !a, !a) query(%q : !q) outs(%keys, %values : !c, !c) query_out(%r : !q)
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
      rotary half(%sin, %cos : !a, !a) query(%r : !q) outs(%values, %keys : !c, !c) query_out(%q : !q)
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) outs(%dense, %dense_v : !n, !n)
  return
}
