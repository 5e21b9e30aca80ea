// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fmha-insert-checks),canonicalize)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --generate-runtime-verification --canonicalize | FileCheck %s

// What the types of fmha.append do not decide, and the entries of its lists.
// CHECK-LABEL: func.func @pages
// CHECK:         (append.A5) expected dimension 0 of kv_lens to equal dimension 0 of key_new
// CHECK:         (append.A5) expected dimension 0 of block_tables to equal dimension 0 of key_new
// CHECK:         (append.A5) expected dimension 0 of sin to equal dimension 0 of cos
// CHECK-NOT:     dimension 0 of key_cache to equal
// CHECK:         (append.A8) expected the last dimension of key_new to be contiguous; copy it to a separate buffer
// CHECK:         (append.A9) expected the stride of dimension 0 of key_cache not to be 0
// CHECK:         (append.A9) expected value_cache and key_cache to share no memory; give value_cache a separate buffer
// CHECK:         scf.for
// CHECK:           (append.A10) expected every entry of kv_lens to be from 0 to the number of keys that the caches hold for a sequence
// CHECK:           (append.A10) expected no entry of kv_lens above the number of rows of cos and sin
// CHECK:           scf.for
// CHECK:             (append.A10) expected every entry of block_tables for a page that gets keys to be from 0 to the number of pages less 1
// CHECK:         fmha.append
!n = memref<?x1x2x64xbf16, strided<[?, ?, ?, ?]>>
!c = memref<?x16x2x64xbf16, strided<[?, ?, ?, 1]>>
!a = memref<?x32xf32>
func.func @pages(%k: !n, %keys: !c, %values: !c, %lens: memref<?xi32>, %pages: memref<?x?xi32>, %cos: !a, %sin: !a) {
  fmha.append ins(%k, %k : !n, !n) kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
      rotary half(%cos, %sin : !a, !a) outs(%keys, %values : !c, !c)
  return
}

// -----

// CHECK-LABEL: func.func @dense
// CHECK:         (append.A5) expected dimension 0 of key_cache to equal dimension 0 of key_new
// CHECK-NOT:     block_tables
// CHECK:         fmha.append
func.func @dense(%k: memref<?x1x2x64xbf16>, %keys: memref<?x64x2x64xbf16>, %values: memref<?x64x2x64xbf16>, %lens: memref<?xi32>) {
  fmha.append ins(%k, %k : memref<?x1x2x64xbf16>, memref<?x1x2x64xbf16>) kv_lens(%lens : memref<?xi32>)
      outs(%keys, %values : memref<?x64x2x64xbf16>, memref<?x64x2x64xbf16>)
  return
}
