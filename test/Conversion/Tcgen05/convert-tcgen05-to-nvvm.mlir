// Each op becomes the NVVM op of its instruction, with the bits of its descriptor.

// RUN: fmha-opt %s --convert-tcgen05-to-nvvm | FileCheck %s

// CHECK-LABEL: llvm.func @movement
llvm.func @movement(%slot: !llvm.ptr<3>, %t: !llvm.ptr<6>, %desc: i64) {
  // CHECK: nvvm.tcgen05.alloc %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  tcgen05.alloc 128 to %slot : !llvm.ptr<3>
  // CHECK: nvvm.tcgen05.fence <before>
  tcgen05.fence before
  // CHECK: nvvm.tcgen05.fence <after>
  tcgen05.fence after
  // CHECK: %[[V:.*]] = nvvm.tcgen05.ld %{{.*}} pack {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : vector<2xi32>
  %v = tcgen05.ld shape_16x64b %t {pack} : !llvm.ptr<6> -> vector<2xi32>
  // CHECK: %[[AT:.*]] = llvm.ptrtoint
  // CHECK: llvm.inline_asm has_side_effects {tcgen05.convergent} "tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.abs.NaN.f32 {$0, $1}, $2, [$3], 8;", "=r,=r,=r,r" %[[AT]]
  %r, %m = tcgen05.ld_red max shape_16x32bx2 %t offset 8 of f32 {abs, nan} : !llvm.ptr<6> -> vector<2xi32>
  // What was loaded passes through a statement without text after the wait.
  // CHECK: nvvm.tcgen05.wait <load>
  // CHECK: llvm.extractelement %[[V]]
  // CHECK: llvm.inline_asm has_side_effects "", "=r,=r,=r,0,1,2" %{{.*}} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32)>
  // CHECK: %[[W:.*]] = llvm.insertelement {{.*}} : vector<2xi32>
  %w, %n = tcgen05.wait load of %v, %m : vector<2xi32>, i32
  // CHECK: nvvm.tcgen05.st %{{.*}}, %{{.*}} unpack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
  tcgen05.st shape_32x32b %w to %t {unpack} : vector<2xi32>, !llvm.ptr<6>
  // CHECK: nvvm.tcgen05.wait <store>
  tcgen05.wait store
  // CHECK: nvvm.tcgen05.cp %{{.*}}, %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b4x16_p64>}
  tcgen05.cp shape_32x128b %desc to %t multicast warpx4 unpacking b4x16_p64 : !llvm.ptr<6>
  // CHECK: nvvm.tcgen05.dealloc
  tcgen05.dealloc 128 at %t : !llvm.ptr<6>
  llvm.return
}

// CHECK-LABEL: llvm.func @pair
llvm.func @pair(%slot: !llvm.ptr<3>, %d: !llvm.ptr<6>, %a: i64, %mask: i16, %p: i1) {
  // CHECK: nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
  tcgen05.relinquish {cta_group = 2 : i32}
  // CHECK: nvvm.tcgen05.commit %{{.*}}, multicast_mask = %{{.*}} {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
  tcgen05.commit %slot multicast %mask {cta_group = 2 : i32} : !llvm.ptr<3>
  // CHECK: nvvm.tcgen05.shift %{{.*}} {group = #nvvm.cta_group<cta_2>}
  tcgen05.shift %d {cta_group = 2 : i32} : !llvm.ptr<6>
  // 0x10400490.
  // CHECK: llvm.mlir.constant(272630928 : i32)
  // CHECK: nvvm.tcgen05.mma {{.*}} {ctaGroup = #nvvm.cta_group<cta_2>
  tcgen05.mma f16 %d, %a, %a accumulate %p shape 256 x 256 of bf16, bf16 to f32 {cta_group = 2 : i32} : i64
  llvm.return
}

// The descriptors are those of hardware manuals: 0x08200490 = 136316048 and so on.
// CHECK-LABEL: llvm.func @products
llvm.func @products(%d: !llvm.ptr<6>, %a: i64, %b: i64, %p: i1, %m: i32) {
  // CHECK: %[[BF16:.*]] = llvm.mlir.constant(136316048 : i32)
  // CHECK: nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}}, %[[BF16]], %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
  tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 128 of bf16, bf16 to f32 : i64
  // 0x08200910, with A in tensor memory.
  // CHECK: llvm.mlir.constant(136317200 : i32)
  // CHECK: %[[SCALE:.*]] = llvm.mlir.constant(5 : i64)
  // CHECK-COUNT-4: llvm.insertelement
  // CHECK: nvvm.tcgen05.mma {{.*}} scale = %[[SCALE]] mask = %{{.*}} {aShift, ctaGroup = {{.*}}, kind = #nvvm.tcgen05_mma_kind<tf32>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, i64, vector<4xi32>)
  tcgen05.mma tf32 %d, %d, %b accumulate %p disable [%m, %m, %m, %m] shape 128 x 128 of tf32, tf32 to f32 {ashift, scale_d = 5 : i32} : !llvm.ptr<6>
  // 0x082004A0 and the sparse bit.
  // CHECK: llvm.mlir.constant(136316068 : i32)
  // CHECK: nvvm.tcgen05.mma.sp {{.*}} {collectorOp = #nvvm.tcgen05_mma_collectorop<fill>, ctaGroup = {{.*}}, kind = #nvvm.tcgen05_mma_kind<i8>}
  tcgen05.mma i8 %d, %a, %b accumulate %p metadata %d shape 128 x 128 of si8, si8 to si32 {collector = #tcgen05<collector fill>} : i64
  // 0x08200490, the sparse bit and selector 1.
  // CHECK: llvm.mlir.constant(136316053 : i32)
  // CHECK: nvvm.tcgen05.mma.sp {{.*}} {ctaGroup = {{.*}}, kind = #nvvm.tcgen05_mma_kind<f16>}
  tcgen05.mma f16 %d, %a, %b accumulate %p metadata %d shape 128 x 128 of bf16, bf16 to f32 {selector = 1 : i32} : i64
  // 0x08A00000.
  // CHECK: llvm.mlir.constant(144703488 : i32)
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}} {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, ctaGroup = {{.*}}, kind = #nvvm.block_scale_kind<mxf8f6f4>}
  tcgen05.mma mxf8f6f4 %d, %a, %b accumulate %p scales %d, %d shape 128 x 128 of f8E4M3FN, f8E4M3FN to f32
      {block = 32 : i32, scale_type = f8E8M0FNU} : i64
  // 0x08200480 and the sparse bit.
  // CHECK: llvm.mlir.constant(136316036 : i32)
  // CHECK: nvvm.tcgen05.mma.sp.block_scale {{.*}} {blockScale = #nvvm.tcgen05_mma_block_scale<block16>, ctaGroup = {{.*}}, kind = #nvvm.block_scale_kind<mxf4nvf4>}
  tcgen05.mma mxf4nvf4 %d, %a, %b accumulate %p metadata %d scales %d, %d shape 128 x 128 of f4E2M1FN, f4E2M1FN to f32
      {block = 16 : i32, scale_type = f8E4M3FN} : i64
  // The maximum shift of 16 is 2 in the top bits, M = 64 and N = 64: 0x84100490.
  // CHECK: llvm.mlir.constant(-2079325040 : i32)
  // CHECK: nvvm.tcgen05.mma.ws {{.*}}, %{{.*}} {collectorBBuffer = #nvvm.tcgen05_mma_collectorb<b1>, collectorOp = #nvvm.tcgen05_mma_collectorop<use>, kind = #nvvm.tcgen05_mma_kind<f16>}
  tcgen05.mma f16 %d, %a, %b accumulate %p zero_columns %b shape 64 x 64 of bf16, bf16 to f32
      {ws, max_shift = 16 : i32, buffer = 1 : i32, collector = #tcgen05<collector use>} : i64
  // CHECK: nvvm.tcgen05.mma.ws.sp
  tcgen05.mma f8f6f4 %d, %a, %b accumulate %p metadata %d shape 64 x 64 of f8E5M2, f4E2M1FN to f16 {ws} : i64
  llvm.return
}
