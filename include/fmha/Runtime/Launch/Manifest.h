//===- Manifest.h - How a compiled kernel is launched -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch manifest of ../README.md as data, and its only reader. Neither
// LLVM nor the driver is needed.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_MANIFEST_H
#define FMHA_RUNTIME_LAUNCH_MANIFEST_H

#include "fmha/Runtime/Launch/Names.h"
#include "fmha/Schedule/Model/Facts.h"

#include <optional>
#include <string>
#include <vector>

namespace fmha::launch {

/// ceil(value / divisor), or a constant.
struct GridFactor {
  RunValue value;
  uint64_t divisor = 1;
  uint64_t constant = 0;
};

struct Parameter {
  using Kind = ParameterKind;
  std::string name;
  Kind kind = Kind::U32;
  /// For TensorMap and Pointer.
  TensorName tensor = TensorName::Q;
  /// TensorMap: innermost first, `box` in elements.
  ElementType dtype = ElementType::BF16;
  std::vector<MapDim> dims;
  std::vector<uint32_t> box;
  Swizzle swizzle = Swizzle::None;
  /// TensorMap: has a fifth dimension for the ends of sequences.
  bool sequences = false;
  /// Returns the index in `dims` of the dimension of rows, the second or the
  /// third.
  std::optional<size_t> rowDim() const;
  /// For U32 and U64.
  RunValue value = RunValue::Batch;
  /// For Pointer, U32 and U64 of a capture: its number; for U32 and U64 also
  /// the dimension whose extent or stride is the value.
  std::optional<uint32_t> capture, size, stride;
};

/// A tensor that the score region reads.
struct CaptureType {
  CaptureElement element = CaptureElement::F32;
  uint32_t rank = 1;
};

struct ManifestRole {
  std::string name;
  uint32_t firstWarp = 0, warps = 0, registers = 0;
};

/// The launch of one kernel.
struct KernelLaunch {
  std::string kernel;
  /// Factors of the x, y and z extents.
  std::array<std::vector<GridFactor>, 3> grid;
  std::array<uint32_t, 3> block = {1, 1, 1}, cluster = {1, 1, 1};
  uint32_t smemBytes = 0;
  /// Whether the kernel waits (griddepcontrol.wait) for earlier grids of the
  /// stream before it accesses memory, so that it may be launched while they
  /// run.
  bool programmatic = false;
  std::vector<Parameter> parameters;

  /// Returns whether any parameter is the number `value`.
  bool takes(RunValue value) const;
};

/// The common part of the manifests of all ops.
struct KernelManifest : KernelLaunch, schedule::Facts {
  std::string target;
  /// The id in the heading of the PTX, which its text determines, or empty.
  std::string id;
  /// Type of the output.
  ElementType outDtype = ElementType::BF16;

  /// Returns whether the kernel has that tensor, of those that facts name.
  bool has(TensorName name) const;
};

struct Manifest : KernelManifest {
  /// Types of q, and of k and v.
  ElementType dtype = ElementType::BF16;
  ElementType kvDtype = ElementType::BF16;
  uint32_t headDim = 0, headDimV = 0;
  /// Number of keys per page if k and v are paged caches, otherwise 0.
  uint32_t pageSize = 0;
  /// Number of columns of q and key_new that the kernel rotates.
  uint32_t rotaryDim = 0;
  /// Of block lists: the rows and the keys of a block.
  uint32_t blockRows = 0, blockKeys = 0;
  /// The mask of a second KV segment, named as `mask` is.
  std::string mask2 = "none";
  /// The tensors that the score region reads.
  std::vector<CaptureType> captures;
  /// "none", "causal" or "causal-top-left", and the window; nullopt if absent.
  std::string mask;
  std::optional<uint32_t> windowLeft, windowRight;
  double scale = 0;
  uint32_t qTiles = 0;
  /// Number of query heads of a group that share the rows of a tile.
  uint32_t packHeads = 1;
  /// "tmem", "smem" or "registers".
  std::string pPlacement;
  /// "single", "static" or "dynamic": the assignment of output tiles to CTAs.
  std::string scheduler = "single";
  /// Maximum number of CTAs in x if the kernel works with any number of them;
  /// 0 if it needs one CTA per tile.
  uint32_t maxCtas = 0;
  /// Number of CTAs that an SM runs concurrently.
  uint32_t ctasPerSm = 1;
  /// CTAs draw tiles from a counter in the workspace, which is 0 before and
  /// after a launch.
  bool tileCounter = false;
  uint32_t tmemColumns = 0;
  std::vector<ManifestRole> roles;
  /// If greater than 1, the kernel writes this many partial results to a
  /// workspace, from which the kernel `combine` computes the outputs.
  uint32_t splits = 1;
  std::optional<KernelLaunch> combine;

  /// Returns whether the kernel has that tensor.
  bool has(TensorName name) const;
  /// Returns whether plain threads compute, not tensor cores.
  bool usesPlainThreads() const;
  /// Returns the maximum q_len and kv_len of a launch: a kernel counts rows in
  /// signed 32-bit integers, and rounds up to the tiles of a CTA.
  int64_t maxLength() const;
};

/// The maximum q_len and kv_len.
constexpr int64_t maxLength = (int64_t(1) << 31) - 512;
/// The maximum if the mask has a window, there are two KV segments, or blocks
/// are listed: a row, rounded up to the tiles of a CTA, plus a bound of 2^30
/// still fits a signed 32-bit integer.
constexpr int64_t maxWindowedLength = (int64_t(1) << 30) - 512;

/// The manifest of a kernel of fmha.merge.
struct MergeManifest : KernelManifest {
  uint32_t headDim = 0;

  bool has(TensorName name) const;
};

/// The manifest of a kernel of fmha.append.
struct AppendManifest : KernelManifest {
  ElementType dtype = ElementType::BF16;
  uint32_t headDim = 0, headDimV = 0;
  /// Number of keys per page if the caches have pages, otherwise 0.
  uint32_t pageSize = 0;
  /// "none", "half" or "interleaved", and the number of columns that rotate.
  std::string rotary = "none";
  uint32_t rotaryDim = 0;
  /// Whether queries are rotated as well.
  bool query = false;

  bool has(TensorName name) const;
};

/// Parses the JSON `text`. Returns nullopt for unknown, missing and ill-typed
/// fields, with a sentence in `problem` that has the JSON path, what was
/// expected and what was found.
std::optional<Manifest> parseManifest(std::string_view text,
                                      std::string &problem);
std::optional<MergeManifest> parseMergeManifest(std::string_view text,
                                                std::string &problem);
std::optional<AppendManifest> parseAppendManifest(std::string_view text,
                                                  std::string &problem);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_MANIFEST_H
