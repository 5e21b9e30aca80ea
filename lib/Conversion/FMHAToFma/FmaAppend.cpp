//===- FmaAppend.cpp - New keys of an fma kernel --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaAppend.h"

using namespace mlir;
using namespace fmha;

/// Emits `body` for a token whose position is in the cache, and, if there are
/// pages, in a page of it. Lists may be invalid.
void FmaAppend::ifExists(const Token &token, function_ref<void()> body) {
  // A negative position is a large one without sign.
  Value isInside =
      compare(arith::CmpIPredicate::ult, token.key, parameter("kv_len"));
  ifThen(isInside, [&] {
    if (!problem.blockTables)
      return body();
    Value isPage = compare(arith::CmpIPredicate::ult, pageOf(token.key),
                           parameter("pages"));
    ifThen(isPage, body);
  });
}

void FmaAppend::copyVector(const std::string &cache, const Token &token,
                           Value vector) {
  std::string fresh = newTensorOf(cache);
  Type type = storageOf(keyElement);
  Value from = rowAt(fresh, batch, token.number, kvHead, type);
  Value data =
      loadVector(from, times(vector, i32(all.vectorElements)), keyElement);
  if (cache == "k")
    data = rotated(data, vector, from, token.key);
  KeyPlace place = placeOf(token.key);
  Value to = rowAt(cache, place.batch, place.row, kvHead, type);
  bool inVectors = problem.keyVectors && cache == "k";
  Value offset = inVectors ? times(wide(vector), parameter("k_stride_vector"))
                           : times(vector, i32(all.vectorElements));
  LLVM::StoreOp::create(b, data, elementAt(to, offset, type),
                        schedule::FmaThreads::vectorBytes);
}

void FmaAppend::copyRows(const std::string &cache, unsigned vectors) {
  Value count = times(parameter("new_len"), i32(vectors));
  loop(thread, count, int32_t(all.threads), ValueRange(),
       [&](Value at, ValueRange) {
         Value number = make<arith::DivUIOp>(at, i32(vectors));
         Token token{number, plus(firstNew, number)};
         ifExists(token, [&] {
           copyVector(cache, token, make<arith::RemUIOp>(at, i32(vectors)));
         });
         return Values();
       });
}

void FmaAppend::buildAppend() {
  if (!problem.keyNew)
    return;
  ifThen(isFirstOfKvHead(), [&] {
    copyRows("k", all.keyVectors);
    copyRows("v", all.valueVectors);
  });
}
