//===- Graph.cpp - Captured work that runs again --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/Order.h"

using namespace ptxsim::driver;

namespace {

constexpr unsigned long long knownFlags = 15, deviceLaunch = 4;

CUresult instantiate(CUgraphExec *out, CUgraph graph,
                     unsigned long long flags) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (!out || !state.graphs.contains(graph) || (flags & ~knownFlags))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & deviceLaunch)
      return fail(CUDA_ERROR_NOT_SUPPORTED,
                  "the simulator does not launch graphs from kernels");
    auto executable = std::make_unique<CUgraphExec_st>();
    executable->nodes = graph->nodes;
    *out = state.executables.add(std::move(executable));
    return CUDA_SUCCESS;
  });
}

/// Copies the nodes, so that they survive if another thread destroys the graph.
CUresult nodesOf(CUgraphExec executable, CUstream stream,
                 std::vector<std::shared_ptr<CUgraphNode_st>> &nodes) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (!state.executables.contains(executable))
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Capture> capture;
    if (CUresult error = capturing(state, stream, capture))
      return error;
    if (capture) {
      capture->invalid = true;
      return fail(CUDA_ERROR_NOT_SUPPORTED,
                  "the simulator does not capture the launch of a graph");
    }
    nodes = executable->nodes;
    orderStream(state, stream);
    return CUDA_SUCCESS;
  });
}

CUresult runAll(const std::vector<std::shared_ptr<CUgraphNode_st>> &nodes) {
  for (const std::shared_ptr<CUgraphNode_st> &node : nodes)
    if (CUresult result = node->run())
      return result;
  return CUDA_SUCCESS;
}

/// Records that a launch of the graph has ended before later work starts.
void finishKernels(const std::vector<std::shared_ptr<CUgraphNode_st>> &nodes) {
  guarded(Needs::Init, [&](State &state) {
    for (const std::shared_ptr<CUgraphNode_st> &node : nodes)
      if (node->stream)
        state.device->finish(*node->stream);
    return CUDA_SUCCESS;
  });
}

} // namespace

DRIVER_API cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                       unsigned long long flags) {
  return instantiate(out, graph, flags);
}

DRIVER_API cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *,
                                 char *log, size_t bytes) {
  if (log && bytes)
    *log = 0;
  return instantiate(out, graph, 0);
}
DRIVER_TWIN(cuGraphInstantiate_v2, cuGraphInstantiate);

DRIVER_API cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
  if (CUresult result = nodesOf(executable, stream, nodes))
    return result;
  CUresult result = runAll(nodes);
  finishKernels(nodes);
  return result;
}
DRIVER_PTSZ(cuGraphLaunch);

DRIVER_API cuGraphExecDestroy(CUgraphExec executable) {
  return guarded(Needs::Init, [&](State &state) {
    return state.executables.erase(executable) ? CUDA_SUCCESS
                                               : CUDA_ERROR_INVALID_VALUE;
  });
}

DRIVER_API cuGraphDestroy(CUgraph graph) {
  return guarded(Needs::Init, [&](State &state) {
    return state.graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

DRIVER_API cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return guarded(Needs::Init, [&](State &state) {
    if (!state.graphs.contains(graph) || !count)
      return CUDA_ERROR_INVALID_VALUE;
    size_t asked = *count;
    *count = nodes ? std::min(asked, graph->nodes.size()) : graph->nodes.size();
    if (nodes)
      for (size_t i = 0; i < asked; ++i)
        nodes[i] = i < *count ? graph->nodes[i].get() : nullptr;
    return CUDA_SUCCESS;
  });
}
