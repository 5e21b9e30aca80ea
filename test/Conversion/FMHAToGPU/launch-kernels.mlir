// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-ptx{target=sm_90a},fmha-launch-kernels{checks=off},canonicalize,cse)' | FileCheck %s
// RUN: mlir-opt %s --split-input-file --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-to-gpu{target=sm_90a checks=off},canonicalize,cse)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(fmha-to-gpu{target=sm_90a})' | FileCheck %s --check-prefix=CHECKS

// Run-time extents come from the memref, and an empty grid is left out.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-DAG:     %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:4, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata %[[Q]]
// CHECK-DAG:     %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[Q]]
// CHECK-DAG:     %[[BYTES:.*]] = arith.muli %[[OFFSET]], %c2
// CHECK-DAG:     %[[ADDRESS:.*]] = arith.addi %[[BASE]], %[[BYTES]]
// CHECK:         %[[EMPTY:.*]] = arith.cmpi ne, %[[GRID:.*]], %c0
// CHECK:         scf.if %[[EMPTY]] {
// CHECK:           fmha.tensor_map %[[ADDRESS]] sizes[%c64,
// CHECK-SAME:        element = bf16, swizzle = 3
// CHECK-COUNT-3:   fmha.tensor_map
// CHECK:           %[[LENGTH:.*]] = arith.index_cast %[[SIZES]]#1 : index to i32
// CHECK:           gpu.launch_func @fmha_fwd_kernel::@fmha_fwd blocks in (%[[GRID]], %c1, %c1)
// CHECK-SAME:        dynamic_shared_memory_size
// CHECK-SAME:        !llvm.array<16 x i64>
// CHECK-SAME:        %[[LENGTH]] : i32
// CHECK-NOT:     fmha.attention

// CHECKS-LABEL: func.func @dynamic
// CHECKS:         cf.assert %{{.*}}, "{{.*}}launch-kernels.mlir:[[#]]:3: fmha.attention: (attention.C8) expected dimension 0 of output to equal dimension 0 of query"
// CHECKS:         cf.assert %{{.*}}, "{{.*}}(attention.C9) expected dimension 1 of value to equal dimension 1 of key"
// CHECKS:         cf.assert %{{.*}}, "{{.*}}(attention.C29) expected a length of query of at most 2147483136; split the sequence"
// CHECKS:         cf.assert %{{.*}}, "{{.*}}(attention.C17) expected the stride of dimension 0 of query to be a multiple of 16 bytes
// CHECKS:         cf.assert %{{.*}}, "{{.*}}(attention.C18) expected the address of query to be a multiple of 16 bytes; allocate it with an alignment of 16, or copy it"
// CHECKS:         cf.assert %{{.*}}, "{{.*}}(attention.C21) expected output and query to share no memory; give output a separate buffer"
// CHECKS:         scf.if
!q = memref<?x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<?x?x2x64xbf16>
func.func @dynamic(%q: !q, %k: !k, %v: !k, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
  return
}

// -----

// Static shapes: no condition, and constraints that the types decide are not
// asserted.
// CHECK-LABEL: func.func @static
// CHECK-NOT:     scf.if
// CHECK:         gpu.launch_func @fmha_fwd_kernel::@fmha_fwd
// CHECK-NOT:     scf.if

// CHECKS-LABEL: func.func @static
// CHECKS-NOT:     "{{.*}}(attention.C9)
// CHECKS-NOT:     "{{.*}}(attention.C17)
// CHECKS:         gpu.launch_func
!t = memref<1x192x2x64xbf16>
func.func @static(%q: !t, %k: !t, %v: !t, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// No rows, no launch.
// CHECK-LABEL: func.func @no_rows
// CHECK-NEXT:    return
!t = memref<1x0x2x64xbf16>
!k = memref<1x8x2x64xbf16>
func.func @no_rows(%q: !t, %k: !k, %v: !k, %o: !t) {
  fmha.attention ins(%q, %k, %v : !t, !k, !k) outs(%o : !t)
  return
}

// -----

// Split KV: a workspace, a kernel that writes it, and one that combines.
// CHECK-LABEL: func.func @splits
// CHECK:         %[[PARTS:.*]] = gpu.alloc () : memref<4x1x64x2x64xf32>
// CHECK:         %[[MAX:.*]] = gpu.alloc () : memref<4x1x2x64xf32>
// CHECK:         %[[SUM:.*]] = gpu.alloc () : memref<4x1x2x64xf32>
// CHECK:         gpu.launch_func @[[KERNEL:.*]]::@fmha_fwd blocks in (%c8, %c1, %c1)
// CHECK:         gpu.launch_func @[[KERNEL]]::@fmha_combine
// CHECK:         gpu.dealloc %[[PARTS]]
// CHECK:         gpu.dealloc %[[MAX]]
// CHECK:         gpu.dealloc %[[SUM]]
!q = memref<1x64x2x64xbf16>
!k = memref<1x4096x2x64xbf16>
func.func @splits(%q: !q, %k: !k, %v: !k, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
    {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, rescale_threshold = 0.0, splits = 4>}
  return
}

// -----

// A static scheduler: as many CTAs as there are tiles or as the device has room for.
// CHECK-LABEL: func.func @persistent
// CHECK:         %[[SMS:.*]] = fmha.multiprocessor_count
// CHECK:         %[[CTAS:.*]] = arith.minui %[[SMS]], %c8
// CHECK-NOT:     cf.assert
// CHECK:         gpu.launch_func @fmha_fwd_kernel::@fmha_fwd blocks in (%[[CTAS]], %c1, %c1)
!q = memref<1x512x2x64xbf16>
func.func @persistent(%q: !q, %k: !q, %v: !q, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
    {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = static>}
  return
}

// -----

// A counter, from which the CTAs draw tiles, begins at 0.
// CHECK-LABEL: func.func @draws
// CHECK:         %[[COUNTER:.*]] = gpu.alloc () : memref<1xi32>
// CHECK:         gpu.memset %[[COUNTER]], %c0_i32 : memref<1xi32>, i32
// CHECK:         %[[SMS:.*]] = fmha.multiprocessor_count
// CHECK:         %[[CTAS:.*]] = arith.minui %[[SMS]], %c8
// CHECK:         gpu.launch_func @fmha_fwd_kernel::@fmha_fwd blocks in (%[[CTAS]], %c1, %c1)
// CHECK:         gpu.dealloc %[[COUNTER]] : memref<1xi32>
!q = memref<1x512x2x64xbf16>
func.func @draws(%q: !q, %k: !q, %v: !q, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
    {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 2, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = dynamic>}
  return
}

// -----

// Two CTAs on each SM.
// CHECK-LABEL: func.func @persistent_pairs
// CHECK:         %[[SMS:.*]] = fmha.multiprocessor_count
// CHECK:         %[[ROOM:.*]] = arith.muli %[[SMS]], %c2
// CHECK:         %[[CTAS:.*]] = arith.minui %[[ROOM]], %c16
// CHECK:         gpu.launch_func @fmha_fwd_kernel::@fmha_fwd blocks in (%[[CTAS]], %c1, %c1)
!q = memref<1x512x2x64xbf16>
func.func @persistent_pairs(%q: !q, %k: !q, %v: !q, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
    {schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_block = 128, kv_stages = 2, p_placement = registers, scheduler = static, ctas_per_sm = 2>}
  return
}

// -----

// Captures: an address, extents of at least 1, and strides.
// CHECK-LABEL: func.func @capture
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: memref<2x?xf32>
// CHECK:         memref.extract_aligned_pointer_as_index %[[BIAS]]
// CHECK:         gpu.launch_func
!q = memref<1x64x2x64xbf16>
func.func @capture(%q: !q, %k: !q, %v: !q, %o: !q, %bias: memref<2x?xf32>) {
  fmha.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
    score(%s, %b, %h, %i, %j, %m, %n) {
      %e = fmha.read %bias[%h, %j] : memref<2x?xf32>
      %x = arith.addf %s, %e : f32
      fmha.yield %x : f32
    }
  return
}

// -----

// CHECK-LABEL: func.func @merge
// CHECK:         gpu.launch_func @fmha_merge_kernel::@fmha_merge
func.func @merge(%o: memref<3x1x?x2x64xf32>, %m: memref<3x1x2x?xf32>, %s: memref<3x1x2x?xf32>, %out: memref<1x?x2x64xbf16>) {
  fmha.merge ins(%o, %m, %s : memref<3x1x?x2x64xf32>, memref<3x1x2x?xf32>, memref<3x1x2x?xf32>) outs(%out : memref<1x?x2x64xbf16>)
  return
}
