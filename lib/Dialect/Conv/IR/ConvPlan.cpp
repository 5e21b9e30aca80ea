//===- ConvPlan.cpp - How a convolution is cut into tiles -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Conv/IR/ConvPlan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace fmha::conv;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Bytes of shared memory that a CTA can have.
static constexpr int64_t sharedLimit = 232448;
/// The largest step of TMA through a dimension.
static constexpr int64_t mostStep = 8;

/// No product of two extents overflows, nor does the number of a lane.
static constexpr int64_t mostExtent = 1 << 20, mostSegments = 1 << 26;

/// Returns the outputs along one dimension.
static int64_t outputs(int64_t in, int64_t pad, int64_t taps, int64_t dilation,
                       int64_t stride) {
  int64_t room = in + 2 * pad - dilation * (taps - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

int64_t ConvShape::p() const { return outputs(h, padH, r, dilationH, strideH); }
int64_t ConvShape::q() const { return outputs(w, padW, s, dilationW, strideW); }
int64_t ConvShape::step() const { return std::lcm(strideW, dilationW); }

int64_t ConvPlan::tiles() const {
  return ceilDiv(ceilDiv(q(), phases()), segmentLanes);
}

int64_t ConvPlan::segmentsOfRow() const {
  return std::min(phases(), q()) * tiles();
}

int64_t ConvPlan::chunks() const { return ceilDiv(c * elementBytes, rowBytes); }

int64_t ConvPlan::productsOfChunk() const {
  return std::min(c * elementBytes, rowBytes) / stepBytes;
}

int64_t ConvPlan::columns() const {
  int64_t needed = aColumn() + productsOfChunk() * 8, columns = 32;
  while (columns < needed)
    columns *= 2;
  return columns;
}

/// Returns what is wrong with the extents of a convolution, or nullopt.
static std::optional<std::string> checkExtents(const ConvPlan &p) {
  int64_t least = std::min({p.strideH, p.strideW, p.dilationH, p.dilationW});
  if (least < 1)
    return "expected positive strides and dilations, got " +
           std::to_string(least);
  if (std::min(p.padH, p.padW) < 0)
    return "expected pads of 0 or more, got " +
           std::to_string(std::min(p.padH, p.padW));
  int64_t most =
      std::max({p.n, p.h, p.w, p.c, p.k, p.r, p.s, p.strideH, p.strideW,
                p.dilationH, p.dilationW, p.padH, p.padW});
  if (most >= mostExtent)
    return "expected extents, strides, dilations and pads below 2^20, got " +
           std::to_string(most);
  return std::nullopt;
}

std::optional<std::string> ConvPlan::check() const {
  if (std::optional<std::string> error = checkExtents(*this))
    return error;
  int64_t bytes = c * elementBytes;
  if (bytes % stepBytes || (bytes > rowBytes && bytes % rowBytes))
    return "expected channels of 32, 64, 96 or a multiple of 128 bytes, got " +
           std::to_string(bytes) + "; pad them with zeros";
  if (k % 16 || k < 16 || k > 256)
    return "expected K to be a multiple of 16 up to 256, got " +
           std::to_string(k) + "; pad the filter with zeros, or cut it";
  if (step() > mostStep)
    return "expected the least common multiple of stride and dilation along "
           "the width to be at most 8, got " +
           std::to_string(step()) + "; take a smaller stride or dilation";
  // Kernels count outputs in 32 bits.
  if (allSegments() > mostSegments)
    return "expected at most 2^26 segments of 32 outputs, got " +
           std::to_string(allSegments()) + "; cut the batch";
  if (sharedBytes() > sharedLimit)
    return "expected tiles of at most " + std::to_string(sharedLimit) +
           " bytes of shared memory, got " + std::to_string(sharedBytes()) +
           "; cut the filter along K";
  return std::nullopt;
}

/// A tensor map of a dense tensor of four dimensions, outermost first; rows of
/// a box are elements of its third dimension.
static llvm::json::Object mapOf(int64_t operand, const std::string &type,
                                llvm::ArrayRef<int64_t> extents,
                                llvm::ArrayRef<int64_t> box, int64_t step,
                                int64_t elementBytes) {
  llvm::json::Array dims, strides, boxes, steps;
  int64_t stride = elementBytes;
  for (unsigned i = 4; i-- > 0;) {
    dims.push_back(extents[i]);
    boxes.push_back(box[i]);
    steps.push_back(i == 2 ? step : 1);
    stride *= extents[i];
    if (i)
      strides.push_back(stride);
  }
  return llvm::json::Object{{"kind", "tensor_map"},
                            {"operand", operand},
                            {"dtype", type},
                            {"dims", std::move(dims)},
                            {"strides", std::move(strides)},
                            {"box", std::move(boxes)},
                            {"element_strides", std::move(steps)},
                            {"swizzle", "128B"},
                            // Padding must not matter: D has no such lanes.
                            {"fill", "NAN_REQUEST_ZERO_FMA"}};
}

std::string ConvPlan::manifest(const std::string &kernel,
                               const std::string &type) const {
  int64_t row = elementsOfRow();
  llvm::json::Array parameters;
  parameters.push_back(mapOf(0, type, {n, h, w, c},
                             {1, 1, (segmentLanes - 1) * step() + 1, row},
                             step(), elementBytes));
  parameters.push_back(
      mapOf(0, type, {n, h, w, c}, {1, 1, 1, row}, 1, elementBytes));
  parameters.push_back(
      mapOf(1, type, {k, r, s, c}, {k, 1, 1, row}, 1, elementBytes));
  parameters.push_back(llvm::json::Object{{"kind", "pointer"}, {"operand", 2}});
  llvm::json::Object launch{{"kernel", kernel},
                            {"grid", ctas()},
                            {"block", segments * segmentLanes},
                            {"smem_bytes", sharedBytes()},
                            {"parameters", std::move(parameters)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(launch));
  return text;
}
