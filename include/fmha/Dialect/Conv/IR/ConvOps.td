//===- ConvOps.td - Convolution that reuses rows by shifts -----*- tablegen -*-//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_CONV_IR_CONVOPS_TD
#define FMHA_DIALECT_CONV_IR_CONVOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Conv_Dialect : Dialect {
  let name = "conv";
  let cppNamespace = "::fmha::conv";
  let summary = "Convolution on the Blackwell tensor core";
}

def Conv_ShiftReuseOp : Op<Conv_Dialect, "shift_reuse"> {
  let summary = "Convolution (fprop) that shifts activations in tensor memory along the width of the filter";
  let description = [{
    With activations NHWC, a filter KRSC, and an output NPQK:

       out[n, p, q, k] = sum over r, s, c of
           in[n, p stride_h + r dilation_h - pad_h, q stride_w + s dilation_w - pad_w, c] filter[k, r, s, c]

    where elements outside of the input count as zero. `convert-conv-to-tcgen05` writes a kernel for sm_100a and adds
    `kernel`, its name, and `manifest`, a JSON object with its launch. f16 and bf16 are multiplied as such, f32 as tf32. Without
    `reuse` every tap of the filter loads its rows again, as an implicit GEMM does. With `ashift` the product of a tap
    shifts A (`.ashift`); otherwise `tcgen05.shift` does. The results are the same.

    ```mlir
    conv.shift_reuse ins(%in, %filter : memref<2x9x9x64xf16>, memref<32x3x3x64xf16>) outs(%out : memref<2x9x9x32xf32>)
        strides [1, 1] dilations [1, 1] pads [1, 1]
    ```

    Constraints: memrefs of static shape without a layout; elements of the input and the filter are equal, those of the output
    f32; the output has the extents that follow; channels take 32, 64, 96 or a multiple of 128 bytes; K is a multiple of 16 up to
    256; the least common multiple of stride and dilation along the width is at most 8; the tiles fit in shared memory.
  }];
  let arguments = (ins Arg<MemRefRankOf<[F16, BF16, F32], [4]>, "activations", [MemRead]>:$input,
                       Arg<MemRefRankOf<[F16, BF16, F32], [4]>, "filter", [MemRead]>:$filter,
                       Arg<MemRefRankOf<[F32], [4]>, "output", [MemWrite]>:$output, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads, DefaultValuedAttr<BoolAttr, "true">:$reuse, UnitAttr:$ashift,
                       OptionalAttr<SymbolRefAttr>:$kernel, OptionalAttr<StrAttr>:$manifest);
  let assemblyFormat = [{
    `ins` `(` $input `,` $filter `:` type($input) `,` type($filter) `)` `outs` `(` $output `:` type($output) `)`
    `strides` $strides `dilations` $dilations `pads` $pads attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::fmha::conv::ConvPlan getPlan();
  }];
}

#endif // FMHA_DIALECT_CONV_IR_CONVOPS_TD
