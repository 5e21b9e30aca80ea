//===- ConvPlan.h - How a convolution is cut into tiles ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile has the 128 lanes of tensor memory: four segments of 32 outputs of one
// row each. The outputs of a segment are `phases` apart, so that its lanes read
// every `step`-th element of the input row, and that the taps of the filter at
// s, s + taps, s + 2 taps, ... read the same elements, one lane further each:
//
//   stride 1, dilation 1     lane     0    1    2   ...  31
//     tap 0                  reads  x0  x0+1  x0+2  ... x0+31
//     tap 1, after a shift        x0+1  x0+2  x0+3  ... x0+32  (a new row)
//
//   stride 2, dilation 1: taps 0 and 2 are a group, and tap 1 is one
//     tap 0                         x0  x0+2  x0+4  ... x0+62
//     tap 2, after a shift        x0+2  x0+4  x0+6  ... x0+64  (a new row)
//
//   stride 1, dilation 2: lanes have even or odd outputs
//     tap 0                         x0  x0+2  x0+4  ... x0+62
//     tap 1, after a shift        x0+2  x0+4  x0+6  ... x0+64  (a new row)
//
// In general step = lcm(stride, dilation), phases = step / stride, and taps =
// step / dilation.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_CONV_IR_CONVPLAN_H
#define FMHA_DIALECT_CONV_IR_CONVPLAN_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha::conv {

/// A convolution, and how lanes and taps follow from it.
struct ConvShape {
  int64_t n = 1, h = 1, w = 1, c = 1, k = 1, r = 1, s = 1;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t padH = 0, padW = 0;
  int64_t elementBytes = 2;
  bool reuse = true;
  /// Whether products shift A, instead of tcgen05.shift.
  bool ashift = false;

  int64_t p() const;
  int64_t q() const;
  /// Elements of the input from lane to lane.
  int64_t step() const;
  /// Outputs from lane to lane.
  int64_t phases() const { return step() / strideW; }
  /// Taps from one shift to the next; without reuse no tap follows.
  int64_t taps() const { return reuse ? step() / dilationW : s; }
  /// Number of groups of taps, each of which loads rows.
  int64_t groups() const { return taps() < s ? taps() : s; }
  /// Number of taps in a group.
  int64_t tapsOf(int64_t group) const { return (s - group - 1) / taps() + 1; }
};

struct ConvPlan : ConvShape {
  static constexpr int64_t segmentLanes = 32, segments = 4;
  /// Bytes of channels in a row of shared memory, and in one product.
  static constexpr int64_t rowBytes = 128, stepBytes = 32;
  static constexpr int64_t atomBytes = 1024;

  /// Segments of one phase of a row, and of a row.
  int64_t tiles() const;
  int64_t segmentsOfRow() const;
  int64_t allSegments() const { return n * p() * segmentsOfRow(); }
  int64_t ctas() const { return (allSegments() + segments - 1) / segments; }
  /// Runs of channels that are loaded together, and products of each.
  int64_t chunks() const;
  int64_t productsOfChunk() const;
  int64_t elementsOfRow() const { return rowBytes / elementBytes; }

  /// Shared memory: rows of four segments, new rows of each shift, the filter
  /// of each tap of a group, and barriers.
  int64_t newRowsAt() const { return segments * segmentLanes * rowBytes; }
  int64_t filterAt() const { return newRowsAt() + (tapsOf(0) - 1) * atomBytes; }
  int64_t filterBytes() const { return k * rowBytes; }
  int64_t barriersAt() const { return filterAt() + tapsOf(0) * filterBytes(); }
  int64_t sharedBytes() const { return barriersAt() + 32; }
  /// Columns of tensor memory: D, then A.
  int64_t aColumn() const { return k < 32 ? 32 : k; }
  int64_t columns() const;

  /// Returns what is wrong and how to mend it, or nullopt.
  std::optional<std::string> check() const;
  /// Returns the launch as JSON.
  std::string manifest(const std::string &kernel,
                       const std::string &type) const;
};

} // namespace fmha::conv

#endif // FMHA_DIALECT_CONV_IR_CONVPLAN_H
