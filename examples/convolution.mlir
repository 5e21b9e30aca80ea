// A convolution whose activations stay in tensor memory: for each tap along the width of the filter they move by a lane.
!in = memref<2x9x9x64xf16>
!filter = memref<32x3x3x64xf16>
!out = memref<2x9x9x32xf32>
func.func @convolution(%in: !in, %filter: !filter, %out: !out) {
  conv.shift_reuse ins(%in, %filter : !in, !filter) outs(%out : !out) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}
