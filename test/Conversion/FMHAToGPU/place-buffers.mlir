// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(fmha-place-buffers),canonicalize)' | FileCheck %s
// RUN: fmha-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(fmha-place-buffers{memory=managed}),canonicalize)' | FileCheck %s --check-prefix=MANAGED

// Arguments: inputs are copied to the device, the destination, which is written
// whole, is copied back only.
// CHECK-LABEL: func.func @arguments
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x?x2x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x?x2x64xbf16>
// CHECK:         %[[SIZE:.*]] = memref.dim %[[O]], %c1
// CHECK:         %[[DO:.*]] = gpu.alloc (%[[SIZE]])
// CHECK:         %[[DQ:.*]] = gpu.alloc
// CHECK-NOT:     gpu.memcpy %[[DO]]
// CHECK:         gpu.memcpy %[[DQ]], %[[Q]]
// CHECK-NEXT:    fmha.attention ins(%[[DQ]], %[[DQ]], %[[DQ]] : {{.*}}) outs(%[[DO]]
// CHECK:         gpu.memcpy %[[O]], %[[DO]]
// CHECK-NOT:     gpu.memcpy
// CHECK:         return

// MANAGED-LABEL: func.func @arguments
// MANAGED:         gpu.alloc host_shared
// MANAGED:         memref.copy
// MANAGED-NOT:     gpu.memcpy
!t = memref<1x?x2x64xbf16>
func.func @arguments(%q: !t, %o: !t) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return
}

// -----

// A buffer that only kernels use moves to the device; one that the host fills
// is copied once for both ops.
// CHECK-LABEL: func.func @between
// CHECK-SAME:    %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK:         %[[Q:.*]] = memref.alloc()
// CHECK:         %[[DQ:.*]] = gpu.alloc ()
// CHECK:         %[[TMP:.*]] = gpu.alloc ()
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.fill {{.*}} outs(%[[Q]]
// CHECK-NEXT:    gpu.memcpy %[[DQ]], %[[Q]]
// CHECK-NEXT:    fmha.attention {{.*}} outs(%[[TMP]]
// CHECK-NEXT:    fmha.attention ins(%[[TMP]], %[[DQ]], %[[DQ]]
// CHECK-DAG:     gpu.memcpy %[[O]]
// CHECK-DAG:     gpu.dealloc %[[TMP]]
// CHECK-DAG:     memref.dealloc %[[Q]]

// With managed memory, buffers that the program allocates need no copies.
// MANAGED-LABEL: func.func @between
// MANAGED-NOT:     memref.alloc
// MANAGED:         linalg.fill {{.*}} outs(%[[Q:[a-z0-9_]+]] :
// MANAGED:         fmha.attention ins(%[[Q]], %[[Q]], %[[Q]]
// MANAGED-NOT:     memref.dealloc
!t = memref<1x64x2x64xbf16>
func.func @between(%o: !t) {
  %zero = arith.constant 0.0 : bf16
  %q = memref.alloc() : !t
  %tmp = memref.alloc() : !t
  linalg.fill ins(%zero : bf16) outs(%q : !t)
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%tmp : !t)
  fmha.attention ins(%tmp, %q, %q : !t, !t, !t) outs(%o : !t)
  memref.dealloc %tmp : !t
  memref.dealloc %q : !t
  return
}

// -----

// A loop of kernels alone has its copies outside.
// MANAGED-LABEL: func.func @loop
// CHECK-LABEL: func.func @loop
// CHECK-COUNT-2: gpu.memcpy
// CHECK:         scf.for
// CHECK-NOT:     gpu.memcpy
// CHECK:           fmha.attention
// CHECK-NOT:     gpu.memcpy
// CHECK:         }
// CHECK:         gpu.memcpy
// CHECK-NOT:     gpu.memcpy
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @loop(%q: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  }
  return
}

// -----

// A loop in which the host reads what the device wrote: one copy per iteration;
// the inputs are copied once.
// CHECK-LABEL: func.func @both_sides
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x64x2x64xbf16>, %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK:         gpu.memcpy %[[DQ:.*]], %[[Q]]
// CHECK-NOT:     gpu.memcpy
// CHECK:         scf.for
// CHECK:           fmha.attention {{.*}} outs(%[[DO:.*]] :
// CHECK-NEXT:      gpu.memcpy %[[O]], %[[DO]]
// CHECK-NEXT:      memref.load %[[O]]
// CHECK-NOT:     gpu.memcpy
// CHECK:         return
!t = memref<1x64x2x64xbf16>
func.func @both_sides(%q: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
    %x = memref.load %o[%c0, %i, %c0, %c0] : !t
    "test.use"(%x) : (bf16) -> ()
  }
  return
}

// -----

// Views: the copy has the same ones. Writing a view keeps the elements around
// it, so they must be on the device too.
// CHECK-LABEL: func.func @views
// CHECK-SAME:    %[[B:[a-z0-9]+]]: memref<1x64x4x64xbf16>
// CHECK:         %[[D:.*]] = gpu.alloc () : memref<1x64x4x64xbf16>
// CHECK:         gpu.memcpy %[[D]], %[[B]]
// CHECK-DAG:     %[[Q:.*]] = memref.subview %[[D]][0, 0, 0, 0]
// CHECK-DAG:     %[[O:.*]] = memref.subview %[[D]][0, 0, 2, 0]
// CHECK:         fmha.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]]
// CHECK:         gpu.memcpy %[[B]], %[[D]]
!v = memref<1x64x2x64xbf16, strided<[16384, 256, 64, 1]>>
!w = memref<1x64x2x64xbf16, strided<[16384, 256, 64, 1], offset: 128>>
func.func @views(%b: memref<1x64x4x64xbf16>) {
  %q = memref.subview %b[0, 0, 0, 0] [1, 64, 2, 64] [1, 1, 1, 1] : memref<1x64x4x64xbf16> to !v
  %o = memref.subview %b[0, 0, 2, 0] [1, 64, 2, 64] [1, 1, 1, 1] : memref<1x64x4x64xbf16> to !w
  fmha.attention ins(%q, %q, %q : !v, !v, !v) outs(%o : !w)
  return
}

// -----

// Buffers that other values may alias, and buffers that are not dense, are
// copied around each op.
// CHECK-LABEL: func.func @around
// CHECK:         scf.for {{.*}} iter_args(%[[X:[a-z0-9]+]] = %
// CHECK:           %[[HOST:.*]] = memref.alloc
// CHECK:           %[[DEVICE:.*]] = gpu.alloc
// CHECK:           memref.copy %[[X]], %[[HOST]]
// CHECK:           gpu.memcpy %[[DEVICE]], %[[HOST]]
// CHECK:           fmha.attention
!t = memref<1x64x2x64xbf16>
func.func @around(%a: !t, %b: !t, %o: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
    scf.yield %y, %x : !t, !t
  }
  "test.use"(%r#0) : (!t) -> ()
  return
}

// -----

// Tensors that the region reads are copied too; device memory is left alone.
// CHECK-LABEL: func.func @captures
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: memref<2xf32>
// CHECK:         gpu.memcpy %[[D:.*]], %[[BIAS]]
// CHECK-NOT:     gpu.memcpy
// CHECK:         fmha.read %[[D]]
!t = memref<1x64x2x64xbf16, 1>
func.func @captures(%q: !t, %o: !t, %bias: memref<2xf32>) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
    score(%s, %b, %h, %i, %j, %m, %n) {
      %e = fmha.read %bias[%h] : memref<2xf32>
      %x = arith.addf %s, %e : f32
      fmha.yield %x : f32
    }
  return
}

// -----

// Rows outside all packed sequences are kept, so they must be on the device.
// CHECK-LABEL: func.func @packed
// CHECK-SAME:    %{{.*}}, %[[O:[a-z0-9]+]]: memref<1x64x2x64xbf16>
// CHECK-DAG:     gpu.memcpy %[[DO:.*]], %[[O]]
// CHECK:         fmha.attention {{.*}} outs(%[[DO]]
!t = memref<1x64x2x64xbf16>
func.func @packed(%q: !t, %o: !t, %starts: memref<3xi32>) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) cu_seqlens_q(%starts : memref<3xi32>) cu_seqlens_k(%starts : memref<3xi32>) outs(%o : !t)
  return
}

// -----

// Caches that attention appends to are copied to the device and back.
// CHECK-LABEL: func.func @caches
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<1x1x2x64xf32>, %[[K:[a-z0-9]+]]: memref<1x9x2x64xf32>, %[[V:[a-z0-9]+]]: memref<1x9x2x64xf32>
// CHECK-DAG:     gpu.memcpy %[[DK:.*]], %[[K]]
// CHECK-DAG:     gpu.memcpy %[[DV:.*]], %[[V]]
// CHECK:         fmha.attention ins(%{{.*}}, %[[DK]], %[[DV]] :
// CHECK-DAG:     gpu.memcpy %[[K]], %[[DK]]
// CHECK-DAG:     gpu.memcpy %[[V]], %[[DV]]
// CHECK:         return

// MANAGED-LABEL: func.func @caches
// MANAGED:         memref.copy {{.*}}, %arg1
!q = memref<1x1x2x64xf32>
!c = memref<1x9x2x64xf32>
func.func @caches(%q: !q, %k: !c, %v: !c, %lens: memref<1xi32>, %kn: !q, %vn: !q, %o: !q) {
  fmha.attention ins(%q, %k, %v : !q, !c, !c) kv_lens(%lens : memref<1xi32>) append(%kn, %vn : !q, !q) outs(%o : !q)
  return
}
