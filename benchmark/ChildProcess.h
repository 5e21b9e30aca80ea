//===- ChildProcess.h - Commands that a benchmark times ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_BENCHMARK_CHILDPROCESS_H
#define FMHA_BENCHMARK_CHILDPROCESS_H

#include <optional>
#include <string>
#include <vector>

namespace fmha::bench {

/// Binds this process, and the ones that it starts, to the first of the cores
/// that it may use.
void useOneCore();

/// Runs `command` (looked up on the PATH, its standard output dropped) and
/// returns its wall time in seconds; nothing where it fails or does not exist.
std::optional<double> timeOf(const std::vector<std::string> &command);

/// Runs `command` and returns the peak of its resident memory in bytes. It is
/// read from /proc once a millisecond: what wait4() reports of a child includes
/// the memory of the parent that it was split from.
std::optional<double> peakMemoryOf(const std::vector<std::string> &command);

/// The bytes in a line such as "VmHWM:  1234 kB" of /proc/<process>/status; 0
/// where there is none. `process` may be "self".
double processMemory(const std::string &process, const std::string &field);

/// Sets the peak of this process (VmHWM) back to what it uses now.
void resetPeakMemory();

} // namespace fmha::bench

#endif // FMHA_BENCHMARK_CHILDPROCESS_H
