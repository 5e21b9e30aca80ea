//===- FmaKeys.cpp - Keys and values of an fma kernel ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaKeys.h"

using namespace mlir;
using namespace fmha;

Value FmaKeys::pageOf(Value key) {
  Value entry = plus(times(batch, parameter("max_pages")),
                     make<arith::DivUIOp>(key, i32(problem.pageSize)));
  return loadNumber("block_tables", entry);
}

/// A page is clamped to the cache, since tables may be invalid.
FmaKeys::KeyPlace FmaKeys::placeOf(Value key) {
  if (problem.topk) {
    Value number = loadNumber("topk", plus(firstListed, key));
    Value last = make<arith::SubIOp>(listable, i32(1));
    key = make<arith::MaxSIOp>(make<arith::MinSIOp>(number, last), i32(0));
  }
  if (!problem.blockTables)
    return {key, batch, key};
  Value last = make<arith::SubIOp>(parameter("pages"), i32(1));
  Value page = make<arith::MinUIOp>(pageOf(key), last);
  return {key, page, make<arith::RemUIOp>(key, i32(problem.pageSize))};
}

Value FmaKeys::keyRow(const std::string &tensor, const KeyPlace &place) {
  Type type = storageOf(keyElement);
  Value cached = rowAt(tensor, place.batch, place.row, kvHead, type);
  if (!problem.keyNew)
    return cached;
  Value token = make<arith::SubIOp>(place.key, firstNew);
  Value added = rowAt(newTensorOf(tensor), batch, token, kvHead, type);
  return select(isNew(place), added, cached);
}

/// New keys are not in vectors.
Value FmaKeys::loadKeyVector(const KeyPlace &place, Value row, Value vector) {
  if (!problem.keyVectors)
    return loadValueVector(row, vector);
  Value stride = parameter("k_stride_vector");
  if (problem.keyNew)
    stride = select(isNew(place), i64(all.vectorElements), stride);
  return loadVector(row, times(wide(vector), stride), keyElement);
}

Value FmaKeys::sharedScale(const std::string &scale) {
  if (!problem.kvE4M3 || problem.scalePerPage)
    return Value();
  return loadScale(scale, problem.scalePerHead ? kvHead : i32(0));
}

Value FmaKeys::pageScale(const std::string &scale, const KeyPlace &place) {
  return problem.scalePerPage ? loadScale(scale, place.batch) : Value();
}
