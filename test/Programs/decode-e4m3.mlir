// Decoding with caches of e4m3, which are bytes on the CPU: one scale for the cache with queries of f32; queries of e4m3, keys in
// vectors of 16 and a scale for each KV head; pages with a scale each and queries of f16.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_90a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=4632 --unit=f16 --spread=4

// Codes of every number of e4m3 but the largest exponent, which has NaN.
func.func private @codes(%s0: index, %s1: index, %s2: index, %s3: index, %seed: index) -> tensor<?x?x?x?xf8E4M3FN> {
  %x = func.call @noise4_f32(%s0, %s1, %s2, %s3, %seed) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %t = tensor.generate %s0, %s1, %s2, %s3 {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %c119 = arith.constant 119.0 : f32
    %one = arith.constant 1.0 : f32
    %c128 = arith.constant -128 : i8
    %zero = arith.constant 0.0 : f32
    %e = tensor.extract %x[%i, %j, %k, %l] : tensor<?x?x?x?xf32>
    %m = math.absf %e : f32
    %n = arith.mulf %m, %c119 : f32
    %bits = arith.fptoui %n : f32 to i8
    %negative = arith.cmpf olt, %e, %zero : f32
    %signed = arith.ori %bits, %c128 : i8
    %all = arith.select %negative, %signed, %bits : i8
    %code = arith.bitcast %all : i8 to f8E4M3FN
    tensor.yield %code : f8E4M3FN
  } : tensor<?x?x?x?xf8E4M3FN>
  return %t : tensor<?x?x?x?xf8E4M3FN>
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  %q_any = call @noise4_f32(%c3, %c2, %c4, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xf32>
  %q = tensor.cast %q_any : tensor<?x?x?x?xf32> to tensor<3x2x4x64xf32>
  %k_any = call @codes(%c3, %c50, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xf8E4M3FN>
  %k = tensor.cast %k_any : tensor<?x?x?x?xf8E4M3FN> to tensor<3x50x2x64xf8E4M3FN>
  %v_any = call @codes(%c3, %c50, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xf8E4M3FN>
  %v = tensor.cast %v_any : tensor<?x?x?x?xf8E4M3FN> to tensor<3x50x2x64xf8E4M3FN>
  %lens = arith.constant dense<[50, 0, 7]> : tensor<3xi32>
  %ks = arith.constant dense<0.01> : tensor<1xf32>
  %vs = arith.constant dense<0.02> : tensor<1xf32>
  %out = tensor.empty() : tensor<3x2x4x64xf32>
  %rows = tensor.empty() : tensor<3x4x2xf32>
  %o, %l = fmha.attention ins(%q, %k, %v : tensor<3x2x4x64xf32>, tensor<3x50x2x64xf8E4M3FN>, tensor<3x50x2x64xf8E4M3FN>)
      kv_lens(%lens : tensor<3xi32>) k_scale(%ks : tensor<1xf32>) v_scale(%vs : tensor<1xf32>)
      outs(%out, %rows : tensor<3x2x4x64xf32>, tensor<3x4x2xf32>) -> tensor<3x2x4x64xf32>, tensor<3x4x2xf32>
  %o_any = tensor.cast %o : tensor<3x2x4x64xf32> to tensor<*xf32>
  call @printMemrefF32(%o_any) : (tensor<*xf32>) -> ()
  %l_any = tensor.cast %l : tensor<3x4x2xf32> to tensor<?x?x?xf32>
  call @print3(%l_any) : (tensor<?x?x?xf32>) -> ()

  %q8_any = call @codes(%c3, %c2, %c4, %c64, %c4) : (index, index, index, index, index) -> tensor<?x?x?x?xf8E4M3FN>
  %q8 = tensor.cast %q8_any : tensor<?x?x?x?xf8E4M3FN> to tensor<3x2x4x64xf8E4M3FN>
  %qs = arith.constant dense<0.03> : tensor<1xf32>
  %kh = arith.constant dense<[0.02, 0.005]> : tensor<2xf32>
  %vh = arith.constant dense<[0.01, 0.03]> : tensor<2xf32>
  %vectors = tensor.expand_shape %k [[0], [1], [2], [3, 4]] output_shape [3, 50, 2, 4, 16] : tensor<3x50x2x64xf8E4M3FN> into tensor<3x50x2x4x16xf8E4M3FN>
  %p = fmha.attention ins(%q8, %vectors, %v : tensor<3x2x4x64xf8E4M3FN>, tensor<3x50x2x4x16xf8E4M3FN>, tensor<3x50x2x64xf8E4M3FN>)
      kv_lens(%lens : tensor<3xi32>) k_scale(%kh : tensor<2xf32>) v_scale(%vh : tensor<2xf32>) q_scale(%qs : tensor<1xf32>)
      outs(%out : tensor<3x2x4x64xf32>) {mask = #fmha.mask<causal>, scale_per_head} -> tensor<3x2x4x64xf32>
  %p_any = tensor.cast %p : tensor<3x2x4x64xf32> to tensor<*xf32>
  call @printMemrefF32(%p_any) : (tensor<*xf32>) -> ()

  %kc_any = call @codes(%c9, %c8, %c2, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xf8E4M3FN>
  %kc = tensor.cast %kc_any : tensor<?x?x?x?xf8E4M3FN> to tensor<9x8x2x64xf8E4M3FN>
  %vc_any = call @codes(%c9, %c8, %c2, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xf8E4M3FN>
  %vc = tensor.cast %vc_any : tensor<?x?x?x?xf8E4M3FN> to tensor<9x8x2x64xf8E4M3FN>
  %page_lens = arith.constant dense<[17, 0, 8]> : tensor<3xi32>
  %tables = arith.constant dense<[[8, 0, 3], [-1, 99, 7], [5, -1, -1]]> : tensor<3x3xi32>
  %kp = arith.constant dense<[0.01, 9.0, 9.0, 0.03, 9.0, 0.02, 9.0, 9.0, 0.004]> : tensor<9xf32>
  %vp = arith.constant dense<[0.05, 9.0, 9.0, 0.02, 9.0, 0.01, 9.0, 9.0, 0.03]> : tensor<9xf32>
  %qh = arith.truncf %q : tensor<3x2x4x64xf32> to tensor<3x2x4x64xf16>
  %r = fmha.attention ins(%qh, %kc, %vc : tensor<3x2x4x64xf16>, tensor<9x8x2x64xf8E4M3FN>, tensor<9x8x2x64xf8E4M3FN>)
      kv_lens(%page_lens : tensor<3xi32>) block_tables(%tables : tensor<3x3xi32>) k_scale(%kp : tensor<9xf32>) v_scale(%vp : tensor<9xf32>)
      outs(%out : tensor<3x2x4x64xf32>) {scale_per_page} -> tensor<3x2x4x64xf32>
  %r_any = tensor.cast %r : tensor<3x2x4x64xf32> to tensor<*xf32>
  call @printMemrefF32(%r_any) : (tensor<*xf32>) -> ()
  return
}
