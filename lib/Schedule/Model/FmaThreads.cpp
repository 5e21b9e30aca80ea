//===- FmaThreads.cpp - What the threads of an fma kernel compute ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/FmaThreads.h"

#include "fmha/Target/Target.h"

#include <algorithm>
#include <numeric>

using namespace fmha::schedule;

FmaThreads::FmaThreads(const Problem &problem, const Schedule &schedule) {
  const Role *compute = schedule.findRole(role);
  warps = compute ? compute->warps : 1;
  threads = warps * target::warpThreads;
  rows = std::max(schedule.packHeads, 1u);
  vectorElements = vectorBytes / bytesOf(problem.kvDtype());
  queryElements = vectorBytes / bytesOf(problem.dtype);
  queryVectors = std::max(problem.headDim / queryElements, 1u);
  keyVectors = std::max(problem.headDim / vectorElements, 1u);
  threadsPerKey = std::gcd(keyVectors, mostPerKey);
  vectorsPerThread = keyVectors / threadsPerKey;
  partStep = problem.keyVectors ? target::warpThreads / threadsPerKey : 1;
  keysAtOnce = std::max(threads / threadsPerKey, 1u);
  valueVectors = std::max(problem.headDimV / vectorElements, 1u);
  valueSlots = std::max(threads / valueVectors, 1u);
}
