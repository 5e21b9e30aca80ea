//===- RowOutputs.cpp - Outputs with one number per row -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowOutputs.h"

#include "fmha/Runtime/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

llvm::Error
fmha::runtime::checkSink(const std::optional<std::vector<float>> &sink,
                         int64_t heads) {
  if (!sink)
    return llvm::Error::success();
  if (int64_t(sink->size()) != heads)
    return failure("sink: expected " + llvm::Twine(heads) +
                   " entries, one per query head, got " +
                   llvm::Twine(sink->size()));
  auto bad = llvm::find_if(*sink, [](float logit) {
    return std::isnan(logit) || logit == INFINITY;
  });
  if (bad == sink->end())
    return llvm::Error::success();
  return failure("sink: expected finite logits, or -inf for none, got " +
                 llvm::Twine(std::isnan(*bad) ? "nan" : "inf") + " as entry " +
                 llvm::Twine(bad - sink->begin()));
}
