// Functions that every program of this folder may call: inputs and printing.

func.func private @printMemrefF32(tensor<*xf32>)

// Numbers in [-1, 1) that depend on the seed and the place, in 11 bits, which
// bf16 rounds and f16 holds.
func.func private @noise(%n: index, %seed: index) -> f32 {
  %c1103 = arith.constant 110351524 : index
  %c2654 = arith.constant 2654435 : index
  %c12345 = arith.constant 12345 : index
  %c4096 = arith.constant 4096 : index
  %c2048 = arith.constant 2048 : index
  %a = arith.muli %n, %c2654 : index
  %b = arith.muli %seed, %c1103 : index
  %c = arith.addi %a, %b : index
  %d = arith.divui %c, %c12345 : index
  %e = arith.xori %c, %d : index
  %f = arith.muli %e, %c2654 : index
  %g = arith.divui %f, %c4096 : index
  %h = arith.remui %g, %c2048 : index
  %i = arith.index_cast %h : index to i32
  %x = arith.sitofp %i : i32 to f32
  %scale = arith.constant 9.765625e-04 : f32
  %one = arith.constant 1.0 : f32
  %y = arith.mulf %x, %scale : f32
  %z = arith.subf %y, %one : f32
  return %z : f32
}

func.func private @noise4_f32(%s0: index, %s1: index, %s2: index, %s3: index, %seed: index) -> tensor<?x?x?x?xf32> {
  %t = tensor.generate %s0, %s1, %s2, %s3 {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %0 = arith.muli %i, %s1 : index
    %1 = arith.addi %0, %j : index
    %2 = arith.muli %1, %s2 : index
    %3 = arith.addi %2, %k : index
    %4 = arith.muli %3, %s3 : index
    %5 = arith.addi %4, %l : index
    %x = func.call @noise(%5, %seed) : (index, index) -> f32
    tensor.yield %x : f32
  } : tensor<?x?x?x?xf32>
  return %t : tensor<?x?x?x?xf32>
}

func.func private @noise4(%s0: index, %s1: index, %s2: index, %s3: index, %seed: index) -> tensor<?x?x?x?xbf16> {
  %t = func.call @noise4_f32(%s0, %s1, %s2, %s3, %seed) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %x = arith.truncf %t : tensor<?x?x?x?xf32> to tensor<?x?x?x?xbf16>
  return %x : tensor<?x?x?x?xbf16>
}

func.func private @print4(%t: tensor<?x?x?x?xbf16>) {
  %x = arith.extf %t : tensor<?x?x?x?xbf16> to tensor<?x?x?x?xf32>
  %u = tensor.cast %x : tensor<?x?x?x?xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func private @print3(%t: tensor<?x?x?xf32>) {
  %u = tensor.cast %t : tensor<?x?x?xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
