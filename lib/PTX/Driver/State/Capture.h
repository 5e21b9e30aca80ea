//===- Capture.h - Streams whose work becomes a graph -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a stream captures, work submitted to it becomes nodes of a graph and
// does not run. A stream joins the capture when it waits for an event that was
// recorded in it. A node is captured after those that it depends on, so a graph
// may run in the order of capture, which is the only order used here.
//
// The failing calls during a capture, their errors, and whether they end the
// capture, are those of a driver (580.159, on an H100).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_STATE_CAPTURE_H
#define FMHA_LIB_PTX_DRIVER_STATE_CAPTURE_H

#include "DriverTypes.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

/// A kernel, copy, fill or host function with its arguments, run without
/// holding the driver's mutex.
struct CUgraphNode_st {
  std::function<CUresult()> run;
  /// The stream of a kernel, in the sense of LaunchConfig.
  std::optional<uint64_t> stream = std::nullopt;
};

struct CUgraph_st {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};

namespace ptxsim::driver {

struct State;

/// Number of nodes of each stream that precede a point in time.
using CaptureClock = std::map<CUstream, size_t>;

struct Capture {
  CUstream origin = nullptr;
  CUcontext context = nullptr;
  CUstreamCaptureMode mode = CaptureModeGlobal;
  std::thread::id thread;
  uint64_t id = 0;
  bool invalid = false;
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  /// Number of nodes captured in each stream.
  CaptureClock counts;
  /// What precedes the next node of each participating stream.
  std::map<CUstream, CaptureClock> clocks;
  /// The stream in which a replay launches the next kernel, in the sense of
  /// LaunchConfig. Work other than kernels ends it, so that no later kernel
  /// overlaps earlier ones.
  std::map<CUstream, uint64_t> kernelStreams;
};

/// Position of an event in a capture; the capture may have ended.
struct CapturedMoment {
  std::weak_ptr<Capture> capture;
  CaptureClock clock;
};

/// Returns true if `stream` is a default stream, which has no object.
inline bool isDefault(CUstream stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2;
}

/// Returns STREAM_CAPTURE_UNSUPPORTED if a capture's mode forbids this thread
/// the calls that a capture cannot contain, and invalidates these captures.
/// Returns SUCCESS if there are none.
CUresult rejectDuringCapture(State &state);

/// Returns STREAM_CAPTURE_IMPLICIT and invalidates the captures that work in a
/// default stream would have to wait for: those of blocking streams. Returns
/// SUCCESS if there are none.
CUresult rejectInDefaultStream(State &state);

/// Discards a capture; its streams no longer capture.
void dropCapture(State &state, std::shared_ptr<Capture> capture);

/// Removes the streams for which `gone` is true, which are about to be
/// destroyed, from their captures. A capture that began in one of them is
/// discarded.
void forgetStreams(State &state, const std::function<bool(CUstream)> &gone);

/// Checks that work may be submitted to `stream`. Sets `capture` to the capture
/// that records it, or to null if it runs immediately.
CUresult capturing(State &state, CUstream stream,
                   std::shared_ptr<Capture> &capture);

/// Adds a node after all that `stream` waits for.
void addNode(Capture &capture, CUstream stream, CUgraphNode_st node);

/// Submits `work` to `stream`: captures it, or runs it now. `isEmpty` means
/// that there is nothing to do, so that no node is created.
CUresult submit(CUstream stream, std::function<CUresult()> work,
                bool isEmpty = false);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_STATE_CAPTURE_H
