//===- Digits.cpp - Indices of tensors in digits --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Digits.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace fmha::raise;

bool fmha::raise::hasAny(ArrayRef<Digit> index, ArrayRef<Digit> others) {
  return llvm::any_of(
      index, [&](Digit digit) { return llvm::is_contained(others, digit); });
}

bool fmha::raise::hasAny(const Place &place, ArrayRef<Digit> others) {
  return llvm::any_of(
      place, [&](const Index &index) { return hasAny(index, others); });
}

Index fmha::raise::flat(const Place &place) {
  Index digits;
  for (const Index &index : place)
    digits.append(index.begin(), index.end());
  return digits;
}

Digit Digits::add(int64_t extent) {
  entries.push_back({extent, std::nullopt});
  return entries.size() - 1;
}

Index Digits::loop(Operation *op, unsigned number, int64_t extent) {
  if (extent == 1)
    return {};
  auto [place, isNew] = loops.try_emplace({op, number}, 0);
  if (isNew)
    place->second = add(extent);
  Index index;
  appendParts(place->second, index);
  return index;
}

void Digits::appendParts(Digit digit, Index &index) const {
  const auto &parts = entries[digit].parts;
  if (!parts)
    return index.push_back(digit);
  appendParts(parts->first, index);
  appendParts(parts->second, index);
}

int64_t Digits::extent(ArrayRef<Digit> index) const {
  int64_t product = 1;
  for (Digit digit : index) {
    if (ShapedType::isDynamic(extent(digit)) ||
        llvm::MulOverflow(product, extent(digit), product))
      return ShapedType::kDynamic;
  }
  return product;
}

void Digits::split(Digit digit, int64_t slow, int64_t fast) {
  Digit first = add(slow), second = add(fast);
  entries[digit].parts = {first, second};
  changed = true;
}

std::optional<Index> Digits::takeFast(Index &rest, int64_t extent) {
  Index taken;
  while (extent > 1) {
    if (rest.empty())
      return std::nullopt;
    Digit digit = rest.pop_back_val();
    int64_t own = this->extent(digit);
    bool isDynamic = ShapedType::isDynamic(own);
    if (isDynamic || (own > extent && own % extent == 0)) {
      split(digit, isDynamic ? own : own / extent, extent);
      rest.push_back(entries[digit].parts->first);
      digit = entries[digit].parts->second;
      own = extent;
    }
    if (own == 0 || extent % own)
      return std::nullopt;
    taken.insert(taken.begin(), digit);
    extent /= own;
  }
  return taken;
}

std::optional<Index> Digits::takeSlow(Index &rest, int64_t extent) {
  Index taken;
  while (extent > 1) {
    if (rest.empty())
      return std::nullopt;
    Digit digit = rest.front();
    rest.erase(rest.begin());
    int64_t own = this->extent(digit);
    if (!ShapedType::isDynamic(own) && own > extent && own % extent == 0) {
      split(digit, extent, own / extent);
      rest.insert(rest.begin(), entries[digit].parts->second);
      digit = entries[digit].parts->first;
      own = extent;
    }
    if (ShapedType::isDynamic(own) || own == 0 || extent % own)
      return std::nullopt;
    taken.push_back(digit);
    extent /= own;
  }
  return taken;
}

std::optional<Place> Digits::divide(ArrayRef<Digit> index,
                                    ArrayRef<int64_t> extents) {
  Place place(extents.size());
  // Index 0 is 0 in each dimension.
  if (index.empty())
    return place;
  // At most one extent is dynamic; it has the digits that the others leave.
  if (llvm::count_if(extents, ShapedType::isDynamic) > 1)
    return std::nullopt;
  Index rest(index.begin(), index.end());
  size_t end = extents.size();
  for (; end && !ShapedType::isDynamic(extents[end - 1]); --end) {
    std::optional<Index> taken = takeFast(rest, extents[end - 1]);
    if (!taken)
      return std::nullopt;
    place[end - 1] = *taken;
  }
  for (size_t first = 0; first + 1 < end; ++first) {
    std::optional<Index> taken = takeSlow(rest, extents[first]);
    if (!taken)
      return std::nullopt;
    place[first] = *taken;
  }
  if (end)
    place[end - 1] = rest;
  else if (!rest.empty())
    return std::nullopt;
  return place;
}
