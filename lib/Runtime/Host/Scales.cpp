//===- Scales.cpp - Check scales of numbers of 8 bits ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scales.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace fmha::runtime {
namespace {

using Scales = std::optional<std::vector<float>>;

llvm::Error checkEntry(llvm::StringRef name, const std::vector<float> &scales,
                       int64_t entry) {
  float got = scales[size_t(entry)];
  if (std::isfinite(got))
    return llvm::Error::success();
  return failure(name + "[" + llvm::Twine(entry) +
                 "]: expected a finite number, got " +
                 (std::isnan(got) ? "nan"
                  : got > 0       ? "inf"
                                  : "-inf"));
}

/// Checks the scales of the pages that sequences have keys in.
llvm::Error checkUsedPages(llvm::StringRef name,
                           const std::vector<float> &scales,
                           const AttentionTensors &tensors) {
  int64_t size = tensors.k.dims[1];
  for (int64_t n = 0; n < sequenceCount(tensors); ++n)
    for (int64_t i = 0; i * size < (*tensors.kvLens)[n]; ++i)
      if (llvm::Error error = checkEntry(
              name, scales, (*tensors.blockTables)[n * tensors.maxPages + i]))
        return error;
  return llvm::Error::success();
}

/// Checks that P in f16, which a tensor core takes times the scale of a page of
/// V relative to that of its sequence's first page, stays finite.
llvm::Error checkRangeOfPages(const Manifest &manifest,
                              const AttentionTensors &tensors) {
  constexpr float most = 256;
  if (!manifest.scalePerPage || manifest.dtype != ElementType::F16 ||
      manifest.usesPlainThreads())
    return llvm::Error::success();
  int64_t size = tensors.k.dims[1];
  for (int64_t n = 0; n < sequenceCount(tensors); ++n) {
    const int32_t *pages = &(*tensors.blockTables)[n * tensors.maxPages];
    for (int64_t i = 1; i * size < (*tensors.kvLens)[n]; ++i) {
      float first = std::fabs((*tensors.vScale)[pages[0]]),
            got = std::fabs((*tensors.vScale)[pages[i]]);
      if (got > most * first)
        return failure("v_scale[" + llvm::Twine(pages[i]) +
                       "]: expected at most 2^8 times that of page " +
                       llvm::Twine(pages[0]) + ", the first one of sequence " +
                       llvm::Twine(n) + ", got " + std::to_string(got) +
                       " and " + std::to_string(first) +
                       "; take bf16 queries, whose P has the range of f32");
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error checkScales(const Manifest &manifest,
                        const AttentionTensors &tensors) {
  const auto &k = tensors.k.dims;
  int64_t count = manifest.scalePerHead   ? k[2]
                  : manifest.scalePerPage ? k[0]
                                          : 1;
  const char *why = manifest.scalePerHead   ? "one per KV head"
                    : manifest.scalePerPage ? "one per page of k"
                                            : "that of the whole tensor";
  struct {
    llvm::StringLiteral name;
    const Scales &scales;
    int64_t count;
    const char *why;
    bool perPage;
  } all[] = {{"k_scale", tensors.kScale, count, why, manifest.scalePerPage},
             {"v_scale", tensors.vScale, count, why, manifest.scalePerPage},
             {"q_scale", tensors.qScale, 1, "that of all queries", false}};
  for (const auto &one : all) {
    if (!one.scales)
      continue;
    if (int64_t got = int64_t(one.scales->size()); got != one.count)
      return failure(one.name + ": expected " + llvm::Twine(one.count) +
                     (one.count == 1 ? " entry, " : " entries, ") + one.why +
                     ", got " + llvm::Twine(got));
    for (int64_t n = 0; !one.perPage && n < one.count; ++n)
      if (llvm::Error error = checkEntry(one.name, *one.scales, n))
        return error;
    if (one.perPage)
      if (llvm::Error error = checkUsedPages(one.name, *one.scales, tensors))
        return error;
  }
  return checkRangeOfPages(manifest, tensors);
}

} // namespace fmha::runtime
