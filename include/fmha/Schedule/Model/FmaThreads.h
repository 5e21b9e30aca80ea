//===- FmaThreads.h - What the threads of an fma kernel compute -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the threads of a CTA of family = fma share the work. Both products read
// memory in vectors of 16 bytes:
//
//   scores   `threadsPerKey` threads of a warp multiply one key, each every
//            threadsPerKey-th vector of it; `keysAtOnce` keys at a time.
//   output   thread t has vector t mod valueVectors of a value, and every
//            valueSlots-th key, from key t / valueVectors on. Threads beyond
//            valueSlots * valueVectors have none.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_FMATHREADS_H
#define FMHA_SCHEDULE_MODEL_FMATHREADS_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

struct FmaThreads {
  /// Bytes of a vector.
  static constexpr unsigned vectorBytes = 16;
  /// The name of the only role.
  static constexpr const char *role = "compute";
  /// The most new keys of a sequence: their vectors are counted in 32 bits.
  static constexpr int64_t mostNewKeys = 1 << 24;
  /// The most threads that share a key.
  static constexpr unsigned mostPerKey = 8;

  /// Returns the most rows of a CTA. For each row a thread has a vector of the
  /// output in registers; with keys of 8 bits it has 16 elements, and ptxas
  /// 13.0 spills up to 72 bytes for four rows.
  static unsigned mostRows(const Problem &problem) {
    return problem.kvE4M3 ? 2 : 4;
  }

  FmaThreads(const Problem &problem, const Schedule &schedule);

  /// Threads and warps of the CTA.
  unsigned threads, warps;
  /// Query heads of one query, the rows of the CTA.
  unsigned rows;
  /// Elements of a vector of keys or values, which queries are multiplied in,
  /// and of one of queries in device memory, whose type may be wider.
  unsigned vectorElements, queryElements;
  /// Vectors of a query in device memory.
  unsigned queryVectors;
  /// Vectors of a key, the threads that share it, and the vectors of each.
  unsigned keyVectors, threadsPerKey, vectorsPerThread;
  unsigned keysAtOnce;
  /// The distance of threads that share a key: 1, or, if keys are in vectors,
  /// such that neighbors read the same vector of neighboring keys.
  unsigned partStep;
  unsigned valueVectors, valueSlots;
};

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_FMATHREADS_H
