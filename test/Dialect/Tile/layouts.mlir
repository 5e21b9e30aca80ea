// Layouts, thread-value layouts, tiled copies and tiled products are printed as they were read, and a tile type with a layout gets the place that has it.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// A shape without strides is column-major. Swizzles, offsets and bits that change nothing are not printed.
// CHECK: func.func private @layouts() attributes {a = #tile.layout<((4,8),(2,2)):((32,1),(16,8))>, b = #tile.layout<Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))>, c = #tile.layout<(4,8):(1,4)>, d = #tile.layout<152 o 8:1>, e = #tile.layout<8:-1>, f = #tile.layout<8:1>}
func.func private @layouts() attributes {
  a = #tile.layout<((4, 8), (2, 2)) : ((32, 1), (16, 8))>,
  b = #tile.layout<Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))>,
  c = #tile.layout<(4,8)>,
  d = #tile.layout<152 o 8:1>,
  e = #tile.layout<8:-1>,
  f = #tile.layout<Sw<0,4,3> o 0 o 8>}

// CHECK: func.func private @owners() attributes {a = #tile.thread_values<((4,8),(2,2)):((32,1),(16,8)), (16,8)>, b = #tile.thread_values<((4,8),2):((0,1),8), 16>}
func.func private @owners() attributes {
  a = #tile.thread_values<((4,8),(2,2)):((32,1),(16,8)), (16,8)>,
  b = #tile.thread_values<((4,8),2):((0,1),8), 16>}

// CHECK: func.func private @copies() attributes {a = #tile.tiled_copy<cp_async_128, ((16,8),8):((64,1),8), (8,128)>, b = #tile.tiled_copy<copy_128, (32,4):(4,1), 128, 32>}
func.func private @copies() attributes {
  a = #tile.tiled_copy<cp_async_128, ((16,8),8):((64,1),8), (8,128)>,
  b = #tile.tiled_copy<copy_128, (32,4):(4,1), 128, 32>}

// CHECK: func.func private @products() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1)>, b = #tile.tiled_mma<mma_m16n8k16_f32_bf16, (4,1,1), (64,16,16)>, c = #tile.tiled_mma<wgmma_m64n256k16_f32_bf16_rs, (2,1,1), (_,256,_)>}
func.func private @products() attributes {
  a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1):(1,0,0)>,
  b = #tile.tiled_mma<mma_m16n8k16_f32_bf16, (4,1,1), (64,16,16)>,
  c = #tile.tiled_mma<wgmma_m64n256k16_f32_bf16_rs, (2,1,1), (_,256:1,_)>}

// The layouts of #tile.fragment, #tile.registers and its slices; modes may be grouped differently.
// CHECK: func.func private @places(!tile.tile<64x8xf32, #tile.fragment>, !tile.tile<128x16xbf16, #tile.fragment>, !tile.tile<128x64xf32, #tile.registers>, !tile.tile<64x64xf32, #tile.registers<slices = 4>>, !tile.tile<64x64xf32, #tile.registers>)
func.func private @places(
  !tile.tile<64x8xf32, #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(64,8)), (64,8)>>,
  !tile.tile<128x16xbf16, #tile.thread_values<((4,8,4),(2,2,2,2)):((256,1,16),(128,8,1024,64)), (128,16)>>,
  !tile.tile<128x64xf32, #tile.thread_values<((32,4),64):((1,32),128), (128,64)>>,
  !tile.tile<64x64xf32, #tile.thread_values<((16,2,4),(8,4)):((1,512,16),(64,1024)), (64,64)>>,
  !tile.tile<64x64xf32, #tile.thread_values<((16,2,4),32):((1,2048,16),64), (64,64)>>)

// The attributes that tile-annotate-layouts writes are verified against the types.
// CHECK-LABEL: func.func @annotated
func.func @annotated(%a: !tile.tile<64x16xf16, #tile.fragment>, %b: !tile.tile<16x16xf16, #tile.smem<offset = 0>>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}} {tile.layout = #tile.thread_values<((4,8,4),(2,2,2)):((128,1,16),(64,8,512)), (64,16)>, tile.mma = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1), (64,16,16)>}
  %0 = tile.dot %a, %b {
    tile.layout = #tile.thread_values<((4,8,4),(2,2,2)):((128,1,16),(64,8,512)), (64,16)>,
    tile.mma = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1), (64,16,16)>}
    : !tile.tile<64x16xf16, #tile.fragment>, !tile.tile<16x16xf16, #tile.smem<offset = 0>> -> !tile.tile<64x16xf32, #tile.fragment>
  return
}
