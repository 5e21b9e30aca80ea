//===- Manifest.h - How a compiled kernel is launched -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch manifest of README.md as data, and the two things a host computes
// from it: the grid, and the value of each run-time parameter.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_MANIFEST_H
#define FMHA_RUNTIME_MANIFEST_H

#include "fmha/Runtime/Element.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <string>
#include <vector>

namespace fmha::runtime {

/// Values that are known at launch only.
enum class RunValue {
  Batch,
  QLen,
  MaxQLen,
  KvLen,
  QHeads,
  KvHeads,
  Group,
  LseStrideBatch,
  LseStrideHead,
  LseStrideRow,
  /// Output tiles, all of which CTAs do.
  Tiles,
  KvLen2,
  RowMaxStrideBatch,
  RowMaxStrideHead,
  RowMaxStrideRow,
  RowSumStrideBatch,
  RowSumStrideHead,
  RowSumStrideRow,
  OStrideBatch,
  OStrideRow,
  OStrideHead,
  Parts,
  OPartsStridePart,
  OPartsStrideBatch,
  OPartsStrideRow,
  OPartsStrideHead,
  MaxPartsStridePart,
  MaxPartsStrideBatch,
  MaxPartsStrideHead,
  MaxPartsStrideRow,
  SumPartsStridePart,
  SumPartsStrideBatch,
  SumPartsStrideHead,
  SumPartsStrideRow,
};
constexpr size_t runValueCount = size_t(RunValue::SumPartsStrideRow) + 1;
llvm::StringRef stringify(RunValue value);

struct RunValues {
  std::array<uint64_t, runValueCount> values = {};
  uint64_t &operator[](RunValue value) { return values[size_t(value)]; }
  uint64_t operator[](RunValue value) const { return values[size_t(value)]; }
};

/// ceil(value / divisor), or a number of its own.
struct GridFactor {
  RunValue value;
  uint64_t divisor = 1;
  uint64_t constant = 0;
};

/// The tensors of the problem, as parameters name them.
enum class TensorName {
  Q,
  K,
  V,
  O,
  Lse,
  RowMax,
  RowSum,
  KvLens,
  CuSeqlensQ,
  CuSeqlensK,
  Sink,
  OParts,
  MaxParts,
  SumParts,
  K2,
  V2,
  Source2Lens
};
llvm::StringRef stringify(TensorName name);

enum class Swizzle { None, B32, B64, B128 };

/// A dimension of a tensor map; `KvHeads` and `Group` of q or o split its
/// heads.
enum class MapDim {
  HeadDim,
  HeadDimV,
  QLen,
  KvLen,
  QHeads,
  KvHeads,
  Group,
  Batch,
  KvLen2
};
llvm::StringRef stringify(MapDim dim);

struct Parameter {
  enum class Kind { TensorMap, Pointer, U32, U64 };
  std::string name;
  Kind kind = Kind::U32;
  /// TensorMap and Pointer.
  TensorName tensor = TensorName::Q;
  /// TensorMap: innermost first, `box` in elements.
  ElementType dtype = ElementType::BF16;
  std::vector<MapDim> dims;
  std::vector<uint32_t> box;
  Swizzle swizzle = Swizzle::None;
  /// TensorMap: with a fifth dimension for the ends of sequences.
  bool sequences = false;
  /// Which of `dims` is that of rows, the second or the third one.
  std::optional<size_t> rowDim() const;
  /// U32 and U64.
  RunValue value = RunValue::Batch;
  /// Pointer, U32 and U64 of what code on scores reads instead: which one, and
  /// for a number the dimension that it is the extent or the stride of.
  std::optional<uint32_t> capture, size, stride;
};

/// A tensor that code on scores reads.
struct CaptureType {
  /// "f32", "f16", "bf16", "i64", "i32", "i8" or "i1" (a byte, 0 or 1).
  std::string element;
  uint32_t rank = 1;
  size_t elementBytes() const;
};

struct ManifestRole {
  std::string name;
  uint32_t firstWarp = 0, warps = 0, registers = 0;
};

/// How one kernel is launched.
struct KernelLaunch {
  std::string kernel;
  /// Factors of the x, y and z extents.
  std::array<std::vector<GridFactor>, 3> grid;
  std::array<uint32_t, 3> block = {1, 1, 1}, cluster = {1, 1, 1};
  uint32_t smemBytes = 0;
  std::vector<Parameter> parameters;

  /// Whether a parameter is the number `value`.
  bool takes(RunValue value) const;
};

struct Manifest : KernelLaunch {
  std::string target;
  /// Of the inputs, and of the output.
  ElementType dtype = ElementType::BF16, outDtype = ElementType::BF16;
  uint32_t headDim = 0, headDimV = 0;
  /// V is the first columns of K, in one buffer.
  bool vInK = false;
  /// The lists that the kernel reads.
  bool kvLens = false, cuSeqlensQ = false, cuSeqlensK = false, sink = false;
  /// Whether code of the op's own makes scores, and what it reads.
  bool score = false;
  /// Keys and values of a second source, and its mask as `mask` is named.
  bool source2 = false, source2Lens = false;
  std::string mask2 = "none";
  std::vector<CaptureType> captures;
  /// "none", "causal" or "causal-top-left", and the window; none where absent.
  std::string mask;
  std::optional<uint32_t> windowLeft, windowRight;
  double scale = 0;
  /// What is written for each row; the output is not divided by the sum.
  bool lse = false, rowMax = false, rowSum = false, unnormalised = false;
  uint32_t qTiles = 0;
  /// Query heads of a group that share the rows of a tile.
  uint32_t packHeads = 1;
  /// "tmem", "smem" or "registers".
  std::string pPlacement;
  /// "single", "static" or "dynamic": which output tiles a CTA does.
  std::string scheduler = "single";
  /// The most CTAs of a launch in x where the scheduler is static, which does
  /// with any number; 0 for as many as there are tiles.
  uint32_t maxCtas = 0;
  /// Those of an SM among them.
  uint32_t ctasPerSm = 1;
  uint32_t tmemColumns = 0;
  std::vector<ManifestRole> roles;
  /// Where this is more than 1 the kernel writes as many parts to a workspace,
  /// which the kernel `combine` makes the outputs of.
  uint32_t splits = 1;
  std::optional<KernelLaunch> combine;

  /// Whether the kernel has that tensor.
  bool has(TensorName name) const {
    bool parts = combine.has_value();
    const bool all[] = {true,    true,       true,   true,       lse,
                        rowMax,  rowSum,     kvLens, cuSeqlensQ, cuSeqlensK,
                        sink,    parts,      parts,  parts,      source2,
                        source2, source2Lens};
    return all[size_t(name)];
  }
};

/// A kernel of fmha.merge.
struct MergeManifest : KernelLaunch {
  std::string target;
  uint32_t headDim = 0;
  ElementType outDtype = ElementType::BF16;
  bool lse = false, rowMax = false, rowSum = false, sink = false;
  bool unnormalised = false;

  bool has(TensorName name) const;
};

/// Parses the JSON `text`. Unknown, missing and ill-typed fields are errors
/// that name the JSON path, what was expected and what is there.
llvm::Expected<Manifest> parseManifest(llvm::StringRef text);
llvm::Expected<MergeManifest> parseMergeManifest(llvm::StringRef text);

/// The output tiles for `values`, as a grid that has a CTA for each. An extent
/// of 0 means: do not launch. Extents above the hardware's limits (2^31 - 1 in
/// x, 65535 in y and z) are errors.
llvm::Expected<std::array<uint32_t, 3>>
evaluateTiles(const KernelLaunch &launch, const RunValues &values);

/// The extents of the launch: those of evaluateTiles(), at most `maxCtas` in x.
llvm::Expected<std::array<uint32_t, 3>> evaluateGrid(const Manifest &manifest,
                                                     const RunValues &values);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_MANIFEST_H
