//===- Passes.td - From tcgen05 and conv to NVVM --------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_TCGEN05_PASSES_TD
#define FMHA_CONVERSION_TCGEN05_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTcgen05ToNVVM : Pass<"convert-tcgen05-to-nvvm"> {
  let summary = "Lower each op of the tcgen05 dialect to the NVVM op of its instruction";
  let description = [{
    The attributes of `tcgen05.mma` become the constant of its instruction descriptor. `tcgen05.ld_red`, for which LLVM 22.1
    has no intrinsic, becomes inline PTX. The registers of loads pass through an opaque statement after their wait, so that
    LLVM moves no use before it. Other ops stay as they are, in functions of any dialect. The ops of a function and of those
    that it calls have one `cta_group`, as those of a kernel have for ptxas, and a target of the module with `tcgen05.ld_red`
    has the instruction.

    Before:
    ```mlir
    tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
    ```
    After:
    ```mlir
    %i = llvm.mlir.constant(135267472 : i32) : i32
    nvvm.tcgen05.mma %d, %a, %b, %i, %p {kind = #nvvm.tcgen05_mma_kind<f16>, ...}
    ```
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertConvToTcgen05 : Pass<"convert-conv-to-tcgen05", "::mlir::ModuleOp"> {
  let summary = "Write a kernel for each convolution that has none";
  let description = [{
    Adds a `gpu.module` for sm_100a with one `llvm.func` of tcgen05 and NVVM ops for each `conv.shift_reuse`. The op stays in
    place, and gets the name of its kernel and its launch as JSON.

    A CTA computes 128 rows of D, four segments of 32 outputs each, for all K. For each row r of the filter, run of channels and group of
    taps, one thread loads by TMA the elements that the lanes read, copies them to tensor memory, and multiplies them with the filter
    of the first tap. For each further tap it shifts A by a lane, copies one new row to the last lane of each segment, and multiplies
    again. Lanes whose element is padding are disabled in the product.

    Before:
    ```mlir
    conv.shift_reuse ins(%in, %filter : ...) outs(%out : ...) strides [1, 1] dilations [1, 1] pads [1, 1]
    ```
    After:
    ```mlir
    conv.shift_reuse ins(%in, %filter : ...) outs(%out : ...) strides [1, 1] dilations [1, 1] pads [1, 1]
        {kernel = @conv_kernel::@conv_kernel, manifest = "{...}"}
    gpu.module @conv_kernel [#nvvm.target<chip = "sm_100a">] { llvm.func @conv_kernel(...) {...} }
    ```
  }];
  let dependentDialects = [
    "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
    "::fmha::conv::ConvDialect", "::fmha::tcgen05::Tcgen05Dialect"
  ];
}

#endif // FMHA_CONVERSION_TCGEN05_PASSES_TD
