//===- Capture.h - A tensor that a score region reads -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_CAPTURE_H
#define FMHA_SCHEDULE_MODEL_CAPTURE_H

#include <algorithm>
#include <string>
#include <string_view>

namespace fmha::schedule {

/// A tensor of any extents and strides, contiguous in its last dimension; one
/// of rank 0 is a scalar. Captures have no names; kernels identify them by
/// position.
struct Capture {
  /// One of captureElements. An i1 is stored as a byte, 0 or 1.
  std::string element;
  unsigned rank = 1;
  bool operator==(const Capture &) const = default;
};

/// The largest rank of a capture.
inline constexpr unsigned maxCaptureRank = 8;
inline constexpr std::string_view captureElements[] = {
    "f32", "f16", "bf16", "i64", "i32", "i8", "i1"};
/// The same types as a phrase for messages.
inline constexpr const char *captureElementList =
    "f32, f16, bf16, i64, i32, i8 or i1";
/// Returns whether captures may have elements of the MLIR type `name`.
inline bool isCaptureElement(std::string_view name) {
  return std::ranges::find(captureElements, name) != std::end(captureElements);
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_CAPTURE_H
