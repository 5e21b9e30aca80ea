//===- LaunchPlan.cpp - Launches with checked tensors ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchPlan.h"

#include "fmha/Runtime/Driver/Types.h"

#include <algorithm>
#include <cstring>

namespace fmha::capi {

ArgumentLayout::ArgumentLayout(const launch::KernelLaunch &kernel) {
  using Kind = launch::Parameter::Kind;
  auto place = [&](size_t size) {
    bytes += size;
    return uint32_t(bytes - size);
  };
  offsets.resize(kernel.parameters.size());
  for (bool isMap : {true, false})
    for (size_t n = 0; n < offsets.size(); ++n)
      if (isMap == (kernel.parameters[n].kind == Kind::TensorMap))
        offsets[n] = place(isMap ? sizeof(runtime::driver::TensorMap)
                                 : sizeof(uint64_t));
  bytes = (bytes + 63) / 64 * 64;
}

LaunchKey::LaunchKey(std::span<const TensorRole> roles,
                     const DLTensor *const *tensors, size_t n,
                     const FmhaLaunchOptions &options) {
  if (!tensors || n != roles.size() || wordsOf(roles) > mostWords)
    return;
  for (size_t i = 0; i < n; ++i) {
    const DLTensor *tensor = tensors[i];
    if (!tensor || tensor->ndim != roles[i].rank ||
        (tensor->ndim && !tensor->shape))
      return;
    add(*tensor);
  }
  text[count++] = uint64_t(uintptr_t(options.workspace));
  text[count++] = options.workspace_bytes;
  text[count++] = uint64_t(options.max_q_len);
  valid = true;
}

size_t LaunchKey::wordsOf(std::span<const TensorRole> roles) {
  size_t words = 3;
  for (const TensorRole &role : roles)
    words += 4 + 2 * size_t(role.rank);
  return words;
}

void LaunchKey::add(const DLTensor &tensor) {
  const DLDataType &type = tensor.dtype;
  text[count++] = uint64_t(uintptr_t(tensor.data));
  text[count++] = tensor.byte_offset;
  text[count++] = uint64_t(uint32_t(tensor.device.device_type)) << 32 |
                  uint32_t(tensor.device.device_id);
  text[count++] = uint64_t(tensor.strides != nullptr) << 32 |
                  uint32_t(type.code) << 24 | uint32_t(type.bits) << 16 |
                  type.lanes;
  for (const int64_t *numbers : {tensor.shape, tensor.strides})
    if (numbers)
      for (int32_t d = 0; d < tensor.ndim; ++d)
        text[count++] = uint64_t(numbers[d]);
}

uint64_t LaunchKey::hash() const {
  // The products are independent of each other.
  uint64_t sum = 0;
  for (size_t n = 0; n < count; ++n)
    sum += (text[n] ^ text[n] >> 17) * (2 * n + 1) * 0x9e3779b97f4a7c15;
  sum = (sum ^ sum >> 29) * 0xbf58476d1ce4e5b9;
  return sum ^ sum >> 32;
}

void PlanCache::reserve(size_t words, size_t wantedBytes) {
  mostWords = words;
  bytes = wantedBytes;
  slots.resize(sets * ways);
  keys.resize(slots.size() * mostWords);
  arguments.resize(slots.size() * bytes);
}

bool PlanCache::find(const LaunchKey &key, LaunchPlan &plan) {
  std::span<const uint64_t> words = key.words();
  uint64_t hash = key.hash();
  size_t first = hash % sets * ways;
  std::lock_guard<std::mutex> lock(turn);
  for (size_t n = first; n < first + ways; ++n) {
    Slot &slot = slots[n];
    if (slot.hash != hash || !slot.used || slot.words != words.size() ||
        std::memcmp(keyOf(n), words.data(), words.size_bytes()) != 0)
      continue;
    slot.used = ++uses;
    plan.grids = slot.grids;
    plan.counter = slot.counter;
    std::memcpy(plan.arguments, argumentsOf(n), bytes);
    return true;
  }
  return false;
}

void PlanCache::keep(const LaunchKey &key, const LaunchPlan &plan) {
  std::span<const uint64_t> words = key.words();
  uint64_t hash = key.hash();
  auto first = slots.begin() + int64_t(hash % sets * ways);
  std::lock_guard<std::mutex> lock(turn);
  auto slot =
      std::min_element(first, first + ways, [](const Slot &a, const Slot &b) {
        return a.used < b.used;
      });
  *slot = {++uses, hash, words.size(), plan.grids, plan.counter};
  size_t n = size_t(slot - slots.begin());
  std::memcpy(keyOf(n), words.data(), words.size_bytes());
  std::memcpy(argumentsOf(n), plan.arguments, bytes);
}

} // namespace fmha::capi
