// Convolutions that the kernel cannot compute.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @dynamic(%in: memref<?x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected memrefs of static extents of 1 or more without a layout, got 'memref<?x9x9x64xf16>'}}
  conv.shift_reuse ins(%in, %f : memref<?x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @types(%in: memref<2x9x9x64xbf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected one element type of input and filter, got 'bf16' and 'f16'}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xbf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @channels(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x32xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected as many channels in the filter as in the input, 64, got 32}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x32xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @pairs(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected two strides, dilations and pads, of height and width, got 1}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1] pads [1, 1]
  return
}

// -----

func.func @stride(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected positive strides and dilations, got 0}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [0, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @pad(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected pads of 0 or more, got -1}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, -1]
  return
}

// -----

func.func @bytes(%in: memref<2x9x9x80xf16>, %f: memref<32x3x3x80xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected channels of 32, 64, 96 or a multiple of 128 bytes, got 160; pad them with zeros}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x80xf16>, memref<32x3x3x80xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @filters(%in: memref<2x9x9x64xf16>, %f: memref<24x3x3x64xf16>, %out: memref<2x9x9x24xf32>) {
  // expected-error@+1 {{expected K to be a multiple of 16 up to 256, got 24; pad the filter with zeros, or cut it}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<24x3x3x64xf16>) outs(%out : memref<2x9x9x24xf32>) strides [1, 1] dilations [1, 1] pads [1, 1]
  return
}

// -----

func.func @step(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x1x32xf32>) {
  // expected-error@+1 {{expected the least common multiple of stride and dilation along the width to be at most 8, got 12; take a smaller stride or dilation}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x1x32xf32>) strides [1, 4] dilations [1, 3] pads [1, 1]
  return
}

// -----

func.func @memory(%in: memref<2x9x9x64xf16>, %f: memref<256x3x7x64xf16>, %out: memref<2x9x9x256xf32>) {
  // expected-error@+1 {{expected tiles of at most 232448 bytes of shared memory, got 251936; cut the filter along K}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<256x3x7x64xf16>) outs(%out : memref<2x9x9x256xf32>) strides [1, 1] dilations [1, 1] pads [1, 3]
  return
}

// -----

func.func @output(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected an output of 2 x 7 x 7 x 32, got}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [0, 0]
  return
}

// -----

func.func @large(%in: memref<2x9x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<2x9x9x32xf32>) {
  // expected-error@+1 {{expected extents, strides, dilations and pads below 2^20, got 1048576}}
  conv.shift_reuse ins(%in, %f : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>) strides [1, 1] dilations [1, 1] pads [1048576, 0]
  return
}

// -----

func.func @segments(%in: memref<1000000x100x9x64xf16>, %f: memref<32x3x3x64xf16>, %out: memref<1000000x98x7x32xf32>) {
  // expected-error@+1 {{expected at most 2^26 segments of 32 outputs, got 98000000; cut the batch}}
  conv.shift_reuse ins(%in, %f : memref<1000000x100x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<1000000x98x7x32xf32>)
      strides [1, 1] dilations [1, 1] pads [0, 0]
  return
}
