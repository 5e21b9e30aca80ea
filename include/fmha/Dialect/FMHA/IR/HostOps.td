//===- HostOps.td - Operations of the host program ---------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host-side ops that a launch needs and upstream dialects lack. Conversion to
// LLVM turns them into calls of libfmha_mgpu.so.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_HOSTOPS_TD
#define FMHA_DIALECT_FMHA_IR_HOSTOPS_TD

def FMHA_TensorMapType : Type<
    CPred<"::fmha::TensorMapOp::isTensorMapType($_self)">,
    "128 bytes, !llvm.array<16 x i64>">,
    BuildableType<"::fmha::TensorMapOp::getTensorMapType($_builder)">;

def FMHA_TensorMapOp : Op<FMHA_Dialect, "tensor_map", [
    NoMemoryEffect, AttrSizedOperandSegments]> {
  let summary = "a TMA descriptor of a strided tensor in global memory";
  let description = [{
    Encodes the 128 bytes of a `CUtensorMap` (CUDA driver API,
    `cuTensorMapEncodeTiled`) of the tensor at `address`: `sizes` in elements and
    `strides` in bytes from the innermost dimension outwards, where the innermost
    one is contiguous and has no stride. `box` is what one load or store moves.
    Out-of-bounds elements read as zero; L2 promotion is 256 bytes.

    The result is passed to a kernel by value. The op has no memory effects, so
    equal maps are encoded once, and `gpu-async-region` adds no synchronization
    for it. A conversion to LLVM makes it a call of `mgpuFmhaEncodeTensorMap`
    (libfmha_mgpu.so), which ends the process with a message if the driver
    rejects the arguments.

    Example:
    ```mlir
    %map = fmha.tensor_map %address sizes[%dim, %length, %heads, %batch]
        strides[%row_bytes, %head_bytes, %batch_bytes]
        {box = array<i32: 64, 128, 1, 1>, element = bf16, swizzle = 3 : i32}
    ```

    Constraints:
    - (tensor_map.E1) There are 1 to 5 sizes, one stride fewer, and a box extent for each size.
    - (tensor_map.E2) Box extents are from 1 to 256.
    - (tensor_map.E3) `element` is f16, bf16 or f32.
    - (tensor_map.E4) `swizzle` is an enumerator of `CUtensorMapSwizzle`, 0 (none) to 3 (128
      bytes).
  }];
  let arguments = (ins Index:$address, Variadic<Index>:$sizes,
                       Variadic<Index>:$strides, DenseI32ArrayAttr:$box,
                       TypeAttr:$element, I32Attr:$swizzle);
  let results = (outs FMHA_TensorMapType:$map);
  let assemblyFormat = [{
    $address `sizes` `[` $sizes `]` `strides` `[` $strides `]` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr unsigned maxRank = 5;
    static bool isTensorMapType(::mlir::Type type);
    static ::mlir::Type getTensorMapType(::mlir::Builder &builder);
  }];
}

def FMHA_MultiprocessorCountOp : Op<FMHA_Dialect, "multiprocessor_count", [
    NoMemoryEffect]> {
  let summary = "number of multiprocessors of the device";
  let description = [{
    Returns the number of multiprocessors of the device that kernels are launched
    on. A conversion to LLVM makes it a call of `mgpuFmhaMultiprocessorCount`
    (libfmha_mgpu.so).

    Example:
    ```mlir
    %sms = fmha.multiprocessor_count
    ```
  }];
  let results = (outs Index:$count);
  let assemblyFormat = "attr-dict";
}

def FMHA_ComputeCapabilityOp : Op<FMHA_Dialect, "compute_capability", [
    NoMemoryEffect]> {
  let summary = "the compute capability of the device";
  let description = [{
    Returns ten times the major number plus the minor number of the compute
    capability of the device that kernels are launched on, 90 for sm_90a. A
    conversion to LLVM makes it a call of `mgpuFmhaComputeCapability`
    (libfmha_mgpu.so).

    Example:
    ```mlir
    %capability = fmha.compute_capability
    ```
  }];
  let results = (outs Index:$capability);
  let assemblyFormat = "attr-dict";
}

#endif // FMHA_DIALECT_FMHA_IR_HOSTOPS_TD
