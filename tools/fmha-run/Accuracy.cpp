//===- Accuracy.cpp - Compares outputs with the reference -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accuracy.h"
#include "ListedKeys.h"
#include "Scales.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace fmha::tools {

namespace {

reference::Problem problemOf(const HostProblem &host, const KernelSpec &spec) {
  const Shape &shape = host.shape;
  auto sequences = sequencesOf(host.tensors());
  reference::Problem problem;
  problem.batch = host.q.view.dims[0];
  problem.qHeads = shape.qHeads;
  problem.kvHeads = shape.kvHeads;
  problem.qLen = shape.qLen;
  problem.kvLen = shape.kvLen;
  problem.headDim = shape.headDim;
  problem.headDimV = shape.headDimV;
  problem.scale = spec.scale.value_or(1 / std::sqrt(double(shape.headDim)));
  const schedule::Mask &mask = spec.problem.mask;
  problem.causal = mask.kind != schedule::Mask::None;
  problem.topLeft = mask.isTopLeft();
  problem.left = mask.left;
  problem.sequences = std::move(sequences);
  if (host.lists.sink)
    problem.sinks.assign(host.lists.sink->begin(), host.lists.sink->end());
  problem.right = mask.right;
  problem.score = host.scores.reference();
  problem.unnormalised = spec.problem.unnormalised;
  return problem;
}

/// Adds the second KV segment, `k` and `v`, to `problem`.
void addSecond(const HostProblem &host, const KernelSpec &spec,
               const reference::Tensor &k, const reference::Tensor &v,
               reference::Problem &problem) {
  const schedule::Mask &mask = spec.problem.mask2;
  reference::Problem::Second second{
      host.shape.kvLen2, k, v, mask.kind != schedule::Mask::None,
      mask.isTopLeft(),  {}};
  if (host.lists.source2Lens)
    second.lengths.assign(host.lists.source2Lens->begin(),
                          host.lists.source2Lens->end());
  problem.second = std::move(second);
}

/// An array widened to float, with its strides.
struct Widened {
  Widened() = default;
  explicit Widened(const HostArray &array) : values(array.floats()) {
    tensor = {values.data(), array.view.strides};
  }
  std::vector<float> values;
  reference::Tensor tensor;
};

/// Gathers the rows of a paged cache into a dense tensor [batch, kv_len, heads,
/// dim]. Rows after the end of a sequence are 0.
Widened gather(const HostArray &cache, const HostProblem &host) {
  const auto &dims = cache.view.dims;
  const Lists &lists = host.lists;
  Widened dense;
  dense.tensor.strides = runtime::denseStrides(
      {host.shape.batch, host.shape.kvLen, dims[2], dims[3]},
      runtime::Layout::BSHD);
  dense.values.resize(host.shape.batch * dense.tensor.strides[0]);
  for (int64_t b = 0; b < host.shape.batch; ++b)
    for (int64_t j = 0; j < (*lists.kvLens)[b]; ++j) {
      int64_t page = (*lists.blockTables)[b * lists.maxPages + j / dims[1]];
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t d = 0; d < dims[3]; ++d)
          dense.values[b * dense.tensor.strides[0] +
                       j * dense.tensor.strides[1] +
                       h * dense.tensor.strides[2] + d] =
              cache.at(page, j % dims[1], h, d);
    }
  dense.tensor.data = dense.values.data();
  return dense;
}

/// Copies keys in vectors to a dense tensor [batch, kv_len, heads, dim].
Widened withoutVectors(const HostArray &array) {
  const auto &dims = array.view.dims;
  Widened dense;
  dense.tensor.strides = runtime::denseStrides(dims, runtime::Layout::BSHD);
  for (int64_t b = 0; b < dims[0]; ++b)
    for (int64_t j = 0; j < dims[1]; ++j)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t d = 0; d < dims[3]; ++d)
          dense.values.push_back(array.at(b, j, h, d));
  dense.tensor.data = dense.values.data();
  return dense;
}

Widened keysOf(const HostArray &array, const HostProblem &host) {
  if (array.view.vector)
    return withoutVectors(array);
  return host.lists.blockTables ? gather(array, host) : Widened(array);
}

} // namespace

reference::Result referenceOf(const HostProblem &problem,
                              const KernelSpec &spec) {
  // A view has K's strides and no memory of its own.
  bool isView = spec.problem.vInK;
  Widened q(problem.q), k = keysOf(problem.k, problem);
  Widened v = isView ? Widened() : keysOf(problem.v, problem);
  Widened k2(problem.k2), v2(problem.v2);
  reference::Problem wanted = problemOf(problem, spec);
  ScaleMaps scales = addScales(problem, spec.problem, wanted);
  ListedTimes listed;
  if (problem.lists.anyKeys()) {
    listed = listedTimes(problem, spec.problem);
    wanted.listed = {listed.times.data(), listed.dims};
  }
  if (problem.hasSource2)
    addSecond(problem, spec, k2.tensor, isView ? k2.tensor : v2.tensor, wanted);
  return reference::attention(wanted, q.tensor, k.tensor,
                              isView ? k.tensor : v.tensor);
}

reference::Comparison compareWith(const reference::Result &expected,
                                  const HostProblem &problem,
                                  const KernelSpec &spec, bool byTensorCores) {
  Widened o(problem.o);
  constexpr reference::Element types[] = {reference::Element::F16,
                                          reference::Element::BF16,
                                          reference::Element::F32};
  // Tensor cores take P in the type of q. Plain threads do not round it if the
  // caches are of e4m3.
  const schedule::Problem &made = spec.problem;
  bool roundsP = !made.kvE4M3 || byTensorCores;
  schedule::DataType product = roundsP ? made.dtype : made.outDtype();
  reference::Element type = types[size_t(product)];
  // Empty rows are also compared, and have no address.
  const float nothing = 0;
  auto address = [&](const std::optional<std::vector<float>> &rows) {
    if (!rows)
      return static_cast<const float *>(nullptr);
    return rows->empty() ? &nothing : rows->data();
  };
  return reference::compare(
      problemOf(problem, spec), expected, type,
      reference::Outputs{o.tensor, spec.problem.outF32, address(problem.lse),
                         address(problem.rowMax), address(problem.rowSum)});
}

std::string explainFailure(const reference::Comparison &comparison) {
  if (comparison.ok)
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  const auto &worst = comparison.worst;
  if (comparison.nonFinite)
    stream << comparison.nonFinite
           << " elements are NaN or infinite, in the output or in the "
              "reference alone, one at batch "
           << worst[0] << ", row " << worst[1] << ", head " << worst[2]
           << ", column " << worst[3];
  else if (comparison.maxErrorInTolerance > 1)
    stream << "the worst element is at batch " << worst[0] << ", row "
           << worst[1] << ", head " << worst[2] << ", column " << worst[3]
           << ": expected an error of at most 1 tolerance, got "
           << llvm::format("%.3g", comparison.maxErrorInTolerance);
  else
    stream << "every element is within its tolerance, but LSE, a row maximum "
              "or sum, or the output as a whole is not";
  return text;
}

} // namespace fmha::tools
