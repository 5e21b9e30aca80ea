//===- Topk.cpp - Lists of keys of each query -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Topk.h"

#include <limits>
#include <random>

namespace fmha::tools {

using namespace runtime;

namespace {

/// Calls `visit` with the number of the query, counted over all sequences, the
/// sequence, and each position that its list names.
template <typename Visit>
void eachListed(const HostProblem &problem, Visit visit) {
  const Lists &lists = problem.lists;
  for (int64_t query = 0; query < problem.shape.batch * problem.shape.qLen;
       ++query)
    for (int64_t n = 0; n < lists.topkLen; ++n) {
      int32_t position = (*lists.topk)[query * lists.topkLen + n];
      if (position < 0)
        break;
      visit(query, query / problem.shape.qLen, position);
    }
}

int64_t keysOfSequence(const HostProblem &problem, int64_t sequence) {
  const auto &lens = problem.lists.kvLens;
  if (!lens)
    return problem.shape.kvLen;
  // Lengths that are wrong are reported later.
  return sequence < int64_t(lens->size()) ? (*lens)[sequence] : 0;
}

/// Fills rows of `array` that are not in `used`, which has a row for each batch
/// or page, with NaN.
void fillOthers(HostArray &array, const std::vector<std::vector<bool>> &used) {
  const auto &dims = array.view.dims;
  for (int64_t b = 0; b < dims[0]; ++b)
    for (int64_t l = 0; l < dims[1]; ++l)
      for (int64_t h = 0; !used[b][l] && h < dims[2]; ++h)
        for (int64_t d = 0; d < dims[3]; ++d)
          array.set(array.view.indexOf(b, l, h, d),
                    std::numeric_limits<float>::quiet_NaN());
}

} // namespace

void chooseTopk(HostProblem &problem, uint64_t seed) {
  Lists &lists = problem.lists;
  if (lists.topk)
    return;
  const Shape &shape = problem.shape;
  lists.topkLen = std::max<int64_t>(1, (shape.kvLen + 1) / 2);
  constexpr uint32_t stream = 6;
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
  std::mt19937_64 engine(sequence);
  std::vector<int32_t> &all = lists.topk.emplace();
  for (int64_t query = 0; query < shape.batch * shape.qLen; ++query) {
    int64_t keys = keysOfSequence(problem, query / shape.qLen);
    int64_t count =
        keys > 0 ? int64_t(engine() % uint64_t(lists.topkLen + 1)) : 0;
    for (int64_t n = 0; n < lists.topkLen; ++n)
      all.push_back(n < count   ? int32_t(engine() % uint64_t(keys))
                    : n > count ? std::numeric_limits<int32_t>::max()
                                : -1);
  }
}

void fillUnlisted(HostProblem &problem, const InputFiles &files) {
  const Lists &lists = problem.lists;
  const auto &dims = problem.k.view.dims;
  std::vector<std::vector<bool>> used(dims[0], std::vector<bool>(dims[1]));
  eachListed(problem, [&](int64_t, int64_t sequence, int64_t position) {
    if (!lists.blockTables) {
      used[sequence][position] = true;
      return;
    }
    int64_t entry = sequence * lists.maxPages + position / dims[1];
    used[(*lists.blockTables)[entry]][position % dims[1]] = true;
  });
  if (!files.k)
    fillOthers(problem.k, used);
  bool isView = problem.v.view.host == problem.k.view.host;
  if (!files.v && !isView)
    fillOthers(problem.v, used);
}

std::vector<int32_t> listedTimes(const HostProblem &problem) {
  const Shape &shape = problem.shape;
  std::vector<int32_t> times(shape.batch * shape.qLen * shape.kvLen);
  eachListed(problem, [&](int64_t query, int64_t, int64_t position) {
    ++times[query * shape.kvLen + position];
  });
  return times;
}

} // namespace fmha::tools
