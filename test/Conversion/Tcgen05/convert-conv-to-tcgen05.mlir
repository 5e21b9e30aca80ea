// A kernel for each convolution, whose op gets its name and its launch.

// RUN: fmha-opt %s --convert-conv-to-tcgen05 | FileCheck %s
// RUN: fmha-opt %s --convert-conv-to-tcgen05 --convert-conv-to-tcgen05 | FileCheck %s

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @two
func.func @two(%in: memref<2x9x9x64xf16>, %filter: memref<32x1x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // A CTA has four segments of 32 outputs of a row: 2 x 9 rows make 5 CTAs.
  // CHECK: conv.shift_reuse {{.*}} {kernel = @conv_kernel::@conv_kernel, manifest = "{{.*}}\22block\22:128,\22grid\22:5,\22kernel\22:\22conv_kernel\22{{.*}}\22fill\22:\22NAN_REQUEST_ZERO_FMA\22
  conv.shift_reuse ins(%in, %filter : memref<2x9x9x64xf16>, memref<32x1x3x64xf16>) outs(%out : memref<2x9x9x32xf32>)
      strides [1, 1] dilations [1, 1] pads [0, 1]
  // CHECK: conv.shift_reuse {{.*}} {ashift, kernel = @conv_kernel_0::@conv_kernel_0,
  conv.shift_reuse ins(%in, %filter : memref<2x9x9x64xf16>, memref<32x1x3x64xf16>) outs(%out : memref<2x9x9x32xf32>)
      strides [1, 1] dilations [1, 1] pads [0, 1] {ashift}
  return
}

// CHECK-LABEL: gpu.module @conv_kernel [#nvvm.target<chip = "sm_100a"
// D is cleared, since products leave disabled lanes as they are.
// CHECK: tcgen05.st
// CHECK: tcgen05.wait store
// The loads of a group of three taps: rows, and two new rows, of each segment, and three filters.
// CHECK: scf.for
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-15: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.mbarrier.try_wait
// A product has 16 channels of f16, and 64 are loaded at once.
// CHECK-COUNT-4: tcgen05.cp shape_128x256b
// CHECK-COUNT-4: tcgen05.mma f16 {{.*}} disable{{.*}} shape 128 x 32 of f16, f16 to f32 : !llvm.ptr<6>
// CHECK: tcgen05.commit
// The four warps' lanes move, and the last of each gets a new row.
// CHECK-COUNT-4: tcgen05.shift
// CHECK-NEXT: llvm.
// CHECK-NOT: tcgen05.shift
// CHECK: tcgen05.cp shape_4x256b
// CHECK-COUNT-12: tcgen05.shift
// CHECK: tcgen05.cp shape_4x256b
// CHECK-COUNT-4: tcgen05.mma
// CHECK: tcgen05.commit
// CHECK: tcgen05.ld
// CHECK: llvm.store
// CHECK: tcgen05.dealloc
// With ashift the first two products shift A, and no other op does.
// CHECK-LABEL: gpu.module @conv_kernel_0
// CHECK-NOT: tcgen05.shift
// CHECK-COUNT-8: {ashift} : !llvm.ptr<6>
// CHECK-NOT: {ashift}
// CHECK: tcgen05.dealloc
