// Code on scores that kernels could not run, and what it must not read.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = memref<1x16x4x64xf16>

func.func @names(%x: !t, %o: !t) {
  // expected-error @below {{expected the 7 names of a score, its sequence, head, row and key, q_len and kv_len, got 2}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b) {
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @function(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %y = arith.extf %s : f32 to f64
    // expected-error @below {{attention.C25: expected functions of math that targets compute, got math.sin : 'f64'; functions take f32, f16, bf16, i32 or i64; convert their arguments}}
    %e = math.sin %y : f64
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @whole_power(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %a = arith.index_cast %i : index to i32
    // expected-error @below {{attention.C25: expected functions of math that targets compute, got math.ipowi : 'i32', 'i32'; a power of integers is a loop; write it as products}}
    %e = math.ipowi %a, %a : i32
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @bits_of_an_index(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{attention.C25: expected functions of math that targets compute, got math.ctlz : 'index'; an index has 32 bits in kernels and 64 elsewhere; take it to i32 or i64 by arith.index_cast}}
    %e = math.ctlz %i : index
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @power_by_an_index(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{attention.C25: expected functions of math that targets compute, got math.fpowi : 'f32', 'index'; an index has 32 bits in kernels}}
    %e = math.fpowi %s, %i : f32, index
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @small_integer(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %a = arith.index_cast %i : index to i16
    // expected-error @below {{got math.absi : 'i16'; functions take f32, f16, bf16, i32 or i64; convert their arguments}}
    %e = math.absi %a : i16
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @two_results(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %a = arith.index_cast %i : index to i32
    // expected-error @below {{expected fmha.read, constants, and elementwise ops of arith and math on numbers in the region `score`, got arith.addui_extended; write it with those}}
    %c, %d = arith.addui_extended %a, %a : i32, i1
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @outside(%x: !t, %o: !t, %cap: f32) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{attention.C25: expected values of the region and constants, got one of 'f32' from outside; pass it in memory and read it by fmha.read}}
    %y = arith.addf %s, %cap : f32
    fmha.yield %y : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @load(%x: !t, %o: !t, %bias: memref<16xf32>) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{elementwise ops of arith and math on numbers in the region `score`, got memref.load : 'f32'; write it with those}}
    %y = memref.load %bias[%j] : memref<16xf32>
    fmha.yield %y : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @double(%x: !t, %o: !t, %bias: memref<16xf64>) {
  // expected-error @below {{attention.C26: expected the region to read elements f32, f16, bf16, i64, i32, i8 or i1, got 'memref<16xf64>'}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %bias[%j] : memref<16xf64>
    %y = arith.truncf %e : f64 to f32
    fmha.yield %y : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @steps(%x: !t, %o: !t, %bias: memref<4x16xf32, strided<[32, 2]>>) {
  // expected-error @below {{attention.C26: expected the tensors that the region reads to be contiguous in their last dimension (stride 1), got 'memref<4x16xf32, strided<[32, 2]>>'}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %bias[%h, %j] : memref<4x16xf32, strided<[32, 2]>>
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @indices(%x: !t, %o: !t, %bias: memref<4x16xf32>) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{expected an index for each of the 2 dimensions of the source, got 1}}
    %e = fmha.read %bias[%j] : memref<4x16xf32>
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @mixed(%x: !t, %o: !t, %bias: tensor<16xf32>) {
  // expected-error @below {{attention.C1: expected all operands to be tensors or all to be memrefs}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %bias[%j] : tensor<16xf32>
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @shared(%x: !t, %o: !t, %bias: memref<16xf32, 3>) {
  // expected-error @below {{attention.C19: expected a tensor that the region `score` reads to lie in global memory}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %bias[%j] : memref<16xf32, 3>
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @destination(%x: !t, %o: !t) {
  // expected-error @below {{attention.C21: expected output and a tensor that the region `score` reads to share no memory, got one memref for both; give output a separate memref}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %o[%b, %i, %h, %j] : !t
    %y = arith.extf %e : f16 to f32
    fmha.yield %y : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @empty(%x: !t, %o: !t) {
  // expected-error @below {{empty block: expect at least a terminator}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @other_terminator(%x: !t, %o: !t) {
  // expected-error @below {{attention.C25: expected fmha.yield at the end of the region}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    "llvm.unreachable"() : () -> ()
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @number(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{'fmha.read' op operand #0 must be ranked tensor or memref, but got 'f32'}}
    %e = "fmha.read"(%s) : (f32) -> f32
    fmha.yield %e : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @wide(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{elementwise ops of arith and math on numbers in the region `score`, got arith.fptosi : 'i128'; write it with those}}
    %n128 = arith.fptosi %s : f32 to i128
    fmha.yield %s : f32
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @arguments(%x: !t, %o: !t) {
  // expected-error @below {{attention.C25: expected a region of (f32, index, index, index, index, index, index), got ('f32')}}
  "fmha.attention"(%x, %x, %x, %o) ({
  ^bb0(%s: f32):
    fmha.yield %s : f32
  }) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>, schedule = #fmha.schedule<>} : (!t, !t, !t, !t) -> ()
  return
}

// -----

!t = memref<1x16x4x64xf16>
!r9 = memref<1x1x1x1x1x1x1x1x16xf32>

func.func @rank_9(%x: !t, %o: !t, %bias: !r9) {
  // expected-error @below {{attention.C26: expected the tensors that the region reads to have a rank of at most 8, got}}
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %e = fmha.read %bias[%j, %j, %j, %j, %j, %j, %j, %j, %j] : !r9
    fmha.yield %e : f32
  }
  return
}

// -----

func.func @read_outside(%bias: memref<4xf32>, %i: index) -> f32 {
  // expected-error @below {{'fmha.read' op expected to stand in the region `score` of fmha.attention, got func.func; outside of it memref.load or tensor.extract reads an element}}
  %e = fmha.read %bias[%i] : memref<4xf32>
  return %e : f32
}

// -----

// Ops of the region are checked before what the region computes, with a schedule, too.
!t = memref<1x16x4x64xf16>

func.func @yields_nothing(%x: !t, %o: !t) {
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) {schedule = #fmha.schedule<target = "sm_90a">} score(%s, %b, %h, %i, %j, %m, %n) {
    // expected-error @below {{'fmha.yield' op requires a single operand}}
    "fmha.yield"() : () -> ()
  }
  return
}

// -----

!t = memref<1x16x4x64xf16>

func.func @cycle(%x: !t, %o: !t) {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{operand #0 does not dominate this use}}
  %y = arith.addf %z, %c : f32
  // expected-note @below {{operand defined here (op in the same block)}}
  %z = arith.addf %y, %c : f32
  fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t) score(%s, %b, %h, %i, %j, %m, %n) {
    %t = arith.addf %s, %y : f32
    fmha.yield %t : f32
  }
  return
}
