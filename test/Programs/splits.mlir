// Few queries of many keys: two kernels and a workspace.
// RUN: cat %S/Inputs/prelude.mlir %s > %t.mlir
// RUN: %program-on-device %t.mlir sm_100a > %t.device
// RUN: %program-on-cpu %t.mlir > %t.cpu
// RUN: %python %S/Inputs/compare.py %t.device %t.cpu --count=2560
// RUN: mlir-opt %t.mlir --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-program-to-llvm{target=sm_100a})' | FileCheck %s
// CHECK: gpu.launch_func <%{{.*}}> @fmha_fwd_kernel::@fmha_fwd
// CHECK: gpu.launch_func <%{{.*}}> @fmha_fwd_kernel::@fmha_combine

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %q_any = call @noise4(%c1, %c20, %c2, %c64, %c1) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %q = tensor.cast %q_any : tensor<?x?x?x?xbf16> to tensor<1x20x2x64xbf16>
  %k_any = call @noise4(%c1, %c2048, %c1, %c64, %c2) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %k = tensor.cast %k_any : tensor<?x?x?x?xbf16> to tensor<1x2048x1x64xbf16>
  %v_any = call @noise4(%c1, %c2048, %c1, %c64, %c3) : (index, index, index, index, index) -> tensor<?x?x?x?xbf16>
  %v = tensor.cast %v_any : tensor<?x?x?x?xbf16> to tensor<1x2048x1x64xbf16>
  %out = tensor.empty() : tensor<1x20x2x64xbf16>
  %o = fmha.attention ins(%q, %k, %v : tensor<1x20x2x64xbf16>, tensor<1x2048x1x64xbf16>, tensor<1x2048x1x64xbf16>) outs(%out : tensor<1x20x2x64xbf16>) -> tensor<1x20x2x64xbf16>
  %o_any = tensor.cast %o : tensor<1x20x2x64xbf16> to tensor<?x?x?x?xbf16>
  call @print4(%o_any) : (tensor<?x?x?x?xbf16>) -> ()
  return
}
