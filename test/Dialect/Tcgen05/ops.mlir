// Every op of the dialect, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK-LABEL: func.func @allocation
func.func @allocation(%slot: !llvm.ptr<3>, %t: !llvm.ptr<6>, %mask: i16) {
  // CHECK: tcgen05.alloc 128 to %{{.*}} : <3>
  tcgen05.alloc 128 to %slot : !llvm.ptr<3>
  // CHECK: tcgen05.alloc 32 to %{{.*}} {cta_group = 2 : i32} : <3>
  tcgen05.alloc 32 to %slot {cta_group = 2 : i32} : !llvm.ptr<3>
  // CHECK: tcgen05.relinquish
  tcgen05.relinquish
  // CHECK: tcgen05.dealloc 128 at %{{.*}} : <6>
  tcgen05.dealloc 128 at %t : !llvm.ptr<6>
  // CHECK: tcgen05.fence before
  tcgen05.fence before
  // CHECK: tcgen05.fence after
  tcgen05.fence after
  // CHECK: tcgen05.commit %{{.*}} : <3>
  tcgen05.commit %slot : !llvm.ptr<3>
  // CHECK: tcgen05.commit %{{.*}} multicast %{{.*}} {cta_group = 2 : i32} : <3>
  tcgen05.commit %slot multicast %mask {cta_group = 2 : i32} : !llvm.ptr<3>
  return
}

// CHECK-LABEL: func.func @registers
func.func @registers(%t: !llvm.ptr<6>) {
  // CHECK: %[[V:.*]] = tcgen05.ld shape_32x32b %{{.*}} : <6> -> vector<32xi32>
  %v = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> vector<32xi32>
  // CHECK: tcgen05.ld shape_16x32bx2 %{{.*}} offset 16 {pack} : <6> -> i32
  %x = tcgen05.ld shape_16x32bx2 %t offset 16 {pack} : !llvm.ptr<6> -> i32
  // CHECK: tcgen05.ld_red max shape_32x32b %{{.*}} of f32 {abs, nan} : <6> -> vector<2xi32>
  %r, %m = tcgen05.ld_red max shape_32x32b %t of f32 {abs, nan} : !llvm.ptr<6> -> vector<2xi32>
  // CHECK: tcgen05.ld_red min shape_16x32bx2 %{{.*}} offset 8 of si32 : <6> -> vector<4xi32>
  %s, %n = tcgen05.ld_red min shape_16x32bx2 %t offset 8 of si32 : !llvm.ptr<6> -> vector<4xi32>
  // CHECK: %[[W:.*]]:2 = tcgen05.wait load of %[[V]], %{{.*}} : vector<32xi32>, i32
  %w:2 = tcgen05.wait load of %v, %x : vector<32xi32>, i32
  // CHECK: tcgen05.st shape_16x64b %[[W]]#0 to %{{.*}} {unpack} : vector<32xi32>, <6>
  tcgen05.st shape_16x64b %w#0 to %t {unpack} : vector<32xi32>, !llvm.ptr<6>
  // CHECK: tcgen05.st shape_16x32bx2 %[[W]]#1 to %{{.*}} offset 4 : i32, <6>
  tcgen05.st shape_16x32bx2 %w#1 to %t offset 4 : i32, !llvm.ptr<6>
  // CHECK: tcgen05.wait store
  tcgen05.wait store
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%t: !llvm.ptr<6>, %desc: i64) {
  // CHECK: tcgen05.cp shape_128x256b %{{.*}} to %{{.*}} : <6>
  tcgen05.cp shape_128x256b %desc to %t : !llvm.ptr<6>
  // CHECK: tcgen05.cp shape_64x128b %{{.*}} to %{{.*}} multicast warpx2_02_13 unpacking b6x16_p32 {cta_group = 2 : i32} : <6>
  tcgen05.cp shape_64x128b %desc to %t multicast warpx2_02_13 unpacking b6x16_p32 {cta_group = 2 : i32} : !llvm.ptr<6>
  // CHECK: tcgen05.shift %{{.*}} : <6>
  tcgen05.shift %t : !llvm.ptr<6>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%d: !llvm.ptr<6>, %a: i64, %b: i64, %p: i1, %m: i32) {
  // CHECK: tcgen05.mma f16 %{{.*}}, %{{.*}}, %{{.*}} accumulate %{{.*}} shape 128 x 64 of bf16, bf16 to f32 : i64
  tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
  // CHECK: tcgen05.mma tf32 {{.*}} disable[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] shape 128 x 64 of tf32, tf32 to f32 {ashift, scale_d = 3 : i32} : !llvm.ptr<6>
  tcgen05.mma tf32 %d, %d, %b accumulate %p disable [%m, %m, %m, %m] shape 128 x 64 of tf32, tf32 to f32
      {ashift, scale_d = 3 : i32} : !llvm.ptr<6>
  // CHECK: tcgen05.mma mxf4nvf4 {{.*}} scales %{{.*}}, %{{.*}} shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32 {block = 16 : i32, scale_type = f8E4M3FN} : i64
  tcgen05.mma mxf4nvf4 %d, %a, %b accumulate %p scales %d, %d shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32
      {block = 16 : i32, scale_type = f8E4M3FN} : i64
  // CHECK: tcgen05.mma i8 {{.*}} metadata %{{.*}} zero_columns %{{.*}} shape 32 x 64 of si8, ui8 to si32 {buffer = 2 : i32, collector = #tcgen05<collector fill>, saturate, ws} : i64
  tcgen05.mma i8 %d, %a, %b accumulate %p metadata %d zero_columns %b shape 32 x 64 of si8, ui8 to si32
      {ws, saturate, collector = #tcgen05<collector fill>, buffer = 2 : i32} : i64
  return
}
