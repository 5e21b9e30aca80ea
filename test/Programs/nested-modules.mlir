// A module in a module: functions of both get their kernels, copies and
// launches in their own module.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(fmha-program-to-llvm{target=sm_90a checks=off})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: env FMHA_DRIVER=%libptxsim PTXSIM_TARGET=sm_90a mlir-runner %t.mlir -e main --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_runner_utils.so | FileCheck %s --check-prefix=NUMBERS

// The nested module runs too, taken out of the other one.
// RUN: %python -c "import sys; t = open(sys.argv[1]).read(); a = t.index('module @layers'); e = t.index('\n  }\n', a) + 4; open(sys.argv[2], 'w').write(t[a:e])" %t.mlir %t.layers.mlir
// RUN: env FMHA_DRIVER=%libptxsim PTXSIM_TARGET=sm_90a mlir-runner %t.layers.mlir -e layer --entry-point-result=void \
// RUN:   --shared-libs=%libfmha_mgpu,%llvm-lib/libmlir_runner_utils.so | FileCheck %s --check-prefix=NUMBERS

// CHECK-NOT:   {{func.func|fmha.attention}}
// CHECK:       module @layers
// CHECK:       llvm.call @mgpuMemcpy
// CHECK:       gpu.launch_func <%{{.*}}> @fmha_fwd_kernel::@fmha_fwd
// CHECK:       gpu.binary @fmha_fwd_kernel
// CHECK:       llvm.call @mgpuMemcpy
// CHECK:       gpu.launch_func <%{{.*}}> @fmha_fwd_kernel::@fmha_fwd
// CHECK:       gpu.binary @fmha_fwd_kernel
// CHECK-NOT:   {{func.func|fmha.attention}}

// All values are 3, so is their mean.
// NUMBERS: [3, 3, 3, 3]
module @layers {
  func.func private @printMemrefF32(tensor<*xf32>)
  func.func @layer() {
    %three = arith.constant dense<3.0> : tensor<1x24x2x64xbf16>
    %out = tensor.empty() : tensor<1x24x2x64xbf16>
    %o = fmha.attention ins(%three, %three, %three : tensor<1x24x2x64xbf16>, tensor<1x24x2x64xbf16>, tensor<1x24x2x64xbf16>)
        outs(%out : tensor<1x24x2x64xbf16>) -> tensor<1x24x2x64xbf16>
    %few = tensor.extract_slice %o[0, 23, 1, 60] [1, 1, 1, 4] [1, 1, 1, 1] : tensor<1x24x2x64xbf16> to tensor<4xbf16>
    %wide = arith.extf %few : tensor<4xbf16> to tensor<4xf32>
    %any = tensor.cast %wide : tensor<4xf32> to tensor<*xf32>
    call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
    return
  }
}
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {
  %three = arith.constant dense<3.0> : tensor<1x24x2x64xbf16>
  %out = tensor.empty() : tensor<1x24x2x64xbf16>
  %o = fmha.attention ins(%three, %three, %three : tensor<1x24x2x64xbf16>, tensor<1x24x2x64xbf16>, tensor<1x24x2x64xbf16>)
      outs(%out : tensor<1x24x2x64xbf16>) {mask = #fmha.mask<causal>} -> tensor<1x24x2x64xbf16>
  %few = tensor.extract_slice %o[0, 23, 1, 60] [1, 1, 1, 4] [1, 1, 1, 1] : tensor<1x24x2x64xbf16> to tensor<4xbf16>
  %wide = arith.extf %few : tensor<4xbf16> to tensor<4xf32>
  %any = tensor.cast %wide : tensor<4xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}
