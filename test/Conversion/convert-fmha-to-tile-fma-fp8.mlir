// RUN: fmha-opt %s --fmha-plan-schedule='target=sm_90a family=fma' --convert-fmha-to-tile | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a})' | FileCheck %s --check-prefix=PTX
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_100a})' | FileCheck %s --check-prefix=PTX

// Caches of e4m3 with a scale for each page: vectors of 16 keys' elements, which become f16 by pairs, then f32.

// CHECK: gpu.module @fmha_fwd_kernel
// CHECK: llvm.func @fmha_fwd
// CHECK-SAME: fmha.problem = #fmha.problem<page_size = 16, scale = {{[0-9.e+-]*}}, kv_lens, block_tables, k_scale, v_scale, scale_per_page, kv_e4m3>
// Queries of bf16 are loaded in vectors of 8.
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// A key, and the scale of its page.
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xi8>
// CHECK: llvm.bitcast %{{.*}} : vector<16xi8> to vector<8xi16>
// CHECK-COUNT-8: nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: math.fma %{{.*}} : vector<8xf32>
// The output has 16 columns per thread.
// CHECK: math.fma %{{.*}} : vector<16xf32>

// PTX: gpu.binary @fmha_fwd_kernel
// PTX-SAME: \22kv_dtype\22: \22e4m3\22
// PTX-SAME: ld.global.v{{[24]}}
// PTX-SAME: cvt.rn.f16x2.e4m3x2
func.func @decode(%q: memref<?x1x8x128xbf16>, %k: memref<?x16x2x128xf8E4M3FN>, %v: memref<?x16x2x128xf8E4M3FN>, %n: memref<?xi32>, %t: memref<?x?xi32>,
                  %ks: memref<?xf32>, %vs: memref<?xf32>, %o: memref<?x1x8x128xbf16>) {
  fmha.attention ins(%q, %k, %v : memref<?x1x8x128xbf16>, memref<?x16x2x128xf8E4M3FN>, memref<?x16x2x128xf8E4M3FN>) kv_lens(%n : memref<?xi32>)
      block_tables(%t : memref<?x?xi32>) k_scale(%ks : memref<?xf32>) v_scale(%vs : memref<?xf32>) outs(%o : memref<?x1x8x128xbf16>) {scale_per_page}
  return
}
