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
    LLVM moves no use before it. Other ops stay as they are, in functions of any dialect.

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

#endif // FMHA_CONVERSION_TCGEN05_PASSES_TD
