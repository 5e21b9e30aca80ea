//===- Scales.cpp - Scales of numbers of 8 bits ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scales.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <random>

namespace fmha::tools {

using namespace runtime;
using Scales = std::optional<std::vector<float>>;

ScaleBy scaleBy(const schedule::Problem &problem) {
  return problem.scalePerHead   ? ScaleBy::Head
         : problem.scalePerPage ? ScaleBy::Page
                                : ScaleBy::Tensor;
}

llvm::Error chooseGranularity(ProblemFlags &flags, const InputFiles &files) {
  const Scales &scales = files.lists.kScale;
  if (!scales || scales->size() <= 1 || !flags.input.empty() ||
      flags.scalePerHead || flags.scalePerPage)
    return llvm::Error::success();
  uint64_t heads = flags.kvHeads.value_or(flags.qHeads.value_or(1));
  bool ofHeads = scales->size() == heads;
  bool ofPages = flags.blockTables.has_value();
  // Without a file the number of pages follows from the tables.
  if (ofPages && files.k && !files.k->shape.empty())
    ofPages = int64_t(scales->size()) == files.k->shape[0];
  if (ofHeads && ofPages)
    return failure("--k-scale: expected --scale-per-head or --scale-per-page "
                   "with " +
                   llvm::Twine(scales->size()) +
                   " scales, which may be of KV heads or of pages, got "
                   "neither; give one of them");
  if (ofHeads)
    flags.scalePerHead = true;
  else if (flags.blockTables)
    flags.scalePerPage = true;
  else
    return failure("--k-scale: expected one scale, or " + llvm::Twine(heads) +
                   ", one per KV head, got " + llvm::Twine(scales->size()));
  return llvm::Error::success();
}

namespace {

/// Returns which pages of the caches sequences have keys in.
std::vector<bool> usedPages(const HostProblem &problem) {
  const Lists &lists = problem.lists;
  std::vector<bool> used(problem.shape.pages);
  for (size_t b = 0; lists.kvLens && b < lists.kvLens->size(); ++b)
    for (int64_t i = 0; i * problem.shape.pageSize < (*lists.kvLens)[b]; ++i) {
      size_t entry = b * lists.maxPages + i;
      if (entry >= lists.blockTables->size())
        break;
      // Tables are checked later.
      int64_t page = (*lists.blockTables)[entry];
      if (page >= 0 && page < problem.shape.pages)
        used[page] = true;
    }
  return used;
}

/// Fills `scales`, the number n of its kind, with random ones.
void fillScales(const HostProblem &problem, ScaleBy by, int64_t count,
                uint64_t seed, uint32_t n, std::vector<float> &scales) {
  constexpr uint32_t firstStream = 16;
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), firstStream + n};
  std::mt19937_64 engine(sequence);
  for (int64_t i = 0; i < count; ++i)
    scales.push_back(
        std::exp2(float(6 * double(engine() >> 11) * 0x1p-53 - 3)));
  if (by != ScaleBy::Page)
    return;
  std::vector<bool> used = usedPages(problem);
  for (int64_t page = 0; page < count; ++page)
    if (!used[page])
      scales[page] = std::numeric_limits<float>::quiet_NaN();
}

} // namespace

llvm::Error chooseScales(HostProblem &problem, const schedule::Problem &spec,
                         uint64_t seed) {
  struct {
    const char *name;
    Scales &scales;
    ScaleBy by;
  } all[] = {{"k_scale", problem.lists.kScale, scaleBy(spec)},
             {"v_scale", problem.lists.vScale, scaleBy(spec)},
             {"q_scale", problem.lists.qScale, ScaleBy::Tensor}};
  for (auto [n, one] : llvm::enumerate(all)) {
    auto &[name, scales, by] = one;
    if (!scales)
      continue;
    int64_t count = by == ScaleBy::Head   ? problem.shape.kvHeads
                    : by == ScaleBy::Page ? problem.shape.pages
                                          : 1;
    if (scales->empty())
      fillScales(problem, by, count, seed, uint32_t(n), *scales);
    if (int64_t(scales->size()) != count)
      return failure(llvm::Twine(name) + ": expected " + llvm::Twine(count) +
                     (count == 1 ? " entry" : " entries") +
                     (by == ScaleBy::Head   ? ", one per KV head"
                      : by == ScaleBy::Page ? ", one per page of k"
                                            : ", that of the whole tensor") +
                     ", got " + llvm::Twine(scales->size()));
  }
  return llvm::Error::success();
}

ScaleAt scalesOf(const Scales &scales, ScaleBy by) {
  if (!scales)
    return nullptr;
  return [&scales, by](int64_t batch, int64_t head) {
    return (*scales)[by == ScaleBy::Head   ? head
                     : by == ScaleBy::Page ? batch
                                           : 0];
  };
}

/// Returns the scale of each key of each sequence; 1 after the last one.
static std::vector<float> scalesOfKeys(const HostProblem &host,
                                       const std::vector<float> &scales) {
  const Shape &shape = host.shape;
  std::vector<float> all(shape.batch * shape.kvLen, 1);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t j = 0; j < (*host.lists.kvLens)[b]; ++j)
      all[b * shape.kvLen + j] =
          scales[(*host.lists.blockTables)[b * host.lists.maxPages +
                                           j / shape.pageSize]];
  return all;
}

ScaleMaps addScales(const HostProblem &host, const schedule::Problem &spec,
                    reference::Problem &wanted) {
  ScaleMaps maps;
  if (host.lists.qScale)
    wanted.scale *= double(host.lists.qScale->front());
  if (!host.lists.kScale || !host.lists.vScale)
    return maps;
  bool isByPage = spec.scalePerPage;
  maps.k =
      isByPage ? scalesOfKeys(host, *host.lists.kScale) : *host.lists.kScale;
  maps.v =
      isByPage ? scalesOfKeys(host, *host.lists.vScale) : *host.lists.vScale;
  const Shape &shape = host.shape;
  std::array<int64_t, 4> dims = {1, int64_t(maps.k.size()), 1, 1};
  if (isByPage)
    dims = {shape.batch, 1, shape.kvLen, 1};
  wanted.keyScales = {maps.k.data(), dims};
  wanted.valueScales = {maps.v.data(), dims};
  return maps;
}

} // namespace fmha::tools
