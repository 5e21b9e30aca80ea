//===- Capture.cpp - Streams whose work becomes a graph -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/Order.h"

#include <algorithm>

using namespace ptxsim::driver;

namespace {

bool forbidsCalls(const Capture &capture) {
  return capture.mode == CaptureModeGlobal ||
         (capture.mode == CaptureModeThreadLocal &&
          capture.thread == std::this_thread::get_id());
}

bool hasBlockingStream(const Capture &capture) {
  return std::ranges::any_of(capture.clocks, [](const auto &item) {
    return !(item.first->flags & streamNonBlocking);
  });
}

/// Invalidates the captures for which `predicate` is true. Returns true if
/// there are any.
template <typename Predicate>
bool invalidate(State &state, Predicate &&predicate) {
  bool any = false;
  for (const std::shared_ptr<Capture> &capture : state.captures)
    if (predicate(*capture))
      any = capture->invalid = true;
  return any;
}

bool isMode(CUstreamCaptureMode mode) {
  return mode == CaptureModeGlobal || mode == CaptureModeThreadLocal ||
         mode == CaptureModeRelaxed;
}

CUresult begin(State &state, CUstream stream, CUstreamCaptureMode mode) {
  if (!isMode(mode))
    return CUDA_ERROR_INVALID_VALUE;
  if (isDefault(stream))
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "a default stream cannot be captured: create one");
  if (!state.streams.contains(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is already capturing");
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->context = stream->context;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = state.nextId++;
  capture->clocks[stream];
  stream->capture = capture;
  state.captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

/// Returns the reason why the capture of `stream` gives no graph, or SUCCESS. A
/// capture that ends in the wrong stream or thread remains, but is invalid.
CUresult checkEnd(Capture &capture, CUstream stream) {
  if (capture.invalid)
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                "an earlier call during the capture failed");
  if (capture.mode != CaptureModeRelaxed &&
      capture.thread != std::this_thread::get_id())
    return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                "another thread began the capture");
  if (capture.origin != stream)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                "the capture began in another stream");
  if (capture.clocks[stream] != capture.counts)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                "the stream does not wait for work of another stream of the "
                "capture: record an event there and wait for it");
  return CUDA_SUCCESS;
}

CUresult end(State &state, CUstream stream, CUgraph *out) {
  if (out)
    *out = nullptr;
  if (!isDefault(stream) && !state.streams.contains(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  if (isDefault(stream) || !stream->capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
  std::shared_ptr<Capture> capture = stream->capture;
  CUresult result = checkEnd(*capture, stream);
  if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    return result;
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) {
    capture->invalid = true;
    return result;
  }
  dropCapture(state, capture);
  if (result == CUDA_SUCCESS && out)
    *out = state.graphs.add(std::move(capture->graph));
  return result;
}

/// Sets whether `stream` is capturing, and in which capture. `wantsGraph` means
/// that the caller also requests the graph so far.
CUresult capturesOf(CUstream stream, CUstreamCaptureStatus *status,
                    uint64_t *id, bool wantsGraph) {
  return guarded(Needs::Context, [&](State &state) {
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDefault(stream) && !state.streams.contains(stream))
      return CUDA_ERROR_INVALID_HANDLE;
    for (const std::shared_ptr<Capture> &capture : state.captures)
      if (isDefault(stream) && hasBlockingStream(*capture))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = CaptureStatusNone;
    if (isDefault(stream) || !stream->capture)
      return CUDA_SUCCESS;
    if (wantsGraph)
      return fail(CUDA_ERROR_NOT_SUPPORTED,
                  "the simulator shows no graph before its capture has ended");
    const Capture &capture = *stream->capture;
    *status = capture.invalid ? CaptureStatusInvalidated : CaptureStatusActive;
    if (id)
      *id = capture.id;
    return CUDA_SUCCESS;
  });
}

} // namespace

CUresult ptxsim::driver::rejectDuringCapture(State &state) {
  if (!invalidate(state, forbidsCalls))
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              "a stream captures, and a graph cannot contain this call: make "
              "it before the capture, or capture in relaxed mode");
}

CUresult ptxsim::driver::rejectInDefaultStream(State &state) {
  if (!invalidate(state, hasBlockingStream))
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              "the default stream waits for blocking streams, of which one "
              "captures: create it with CU_STREAM_NON_BLOCKING");
}

// By value: the caller may hold a stream's or the list's own pointer.
void ptxsim::driver::dropCapture(State &state,
                                 std::shared_ptr<Capture> capture) {
  for (const auto &[stream, clock] : capture->clocks)
    if (state.streams.contains(stream))
      stream->capture = nullptr;
  std::erase(state.captures, capture);
}

void ptxsim::driver::forgetStreams(State &state,
                                   const std::function<bool(CUstream)> &gone) {
  std::vector<std::shared_ptr<Capture>> captures = state.captures;
  for (const std::shared_ptr<Capture> &capture : captures) {
    if (gone(capture->origin))
      dropCapture(state, capture);
    else
      std::erase_if(capture->clocks,
                    [&](const auto &item) { return gone(item.first); });
  }
}

CUresult ptxsim::driver::capturing(State &state, CUstream stream,
                                   std::shared_ptr<Capture> &capture) {
  capture = nullptr;
  if (isDefault(stream))
    return rejectInDefaultStream(state);
  if (!state.streams.contains(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  capture = stream->capture;
  if (capture && capture->invalid)
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                "an earlier call during the capture failed");
  return CUDA_SUCCESS;
}

void ptxsim::driver::addNode(Capture &capture, CUstream stream,
                             CUgraphNode_st node) {
  if (!node.stream)
    capture.kernelStreams.erase(stream);
  capture.graph->nodes.push_back(
      std::make_shared<CUgraphNode_st>(std::move(node)));
  capture.clocks[stream][stream] = ++capture.counts[stream];
}

CUresult ptxsim::driver::submit(CUstream stream, std::function<CUresult()> work,
                                bool isEmpty) {
  bool captured = false;
  CUresult result = guarded(Needs::Healthy, [&](State &state) {
    std::shared_ptr<Capture> capture;
    if (CUresult error = capturing(state, stream, capture))
      return error;
    captured = capture != nullptr;
    if (captured && !isEmpty)
      addNode(*capture, stream, {work});
    if (!captured && !isEmpty)
      orderStream(state, stream);
    return CUDA_SUCCESS;
  });
  return result != CUDA_SUCCESS || captured ? result : work();
}

DRIVER_API cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return guarded(Needs::Healthy,
                 [&](State &state) { return begin(state, stream, mode); });
}
DRIVER_PTSZ(cuStreamBeginCapture_v2);
DRIVER_API cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CaptureModeGlobal);
}
DRIVER_PTSZ(cuStreamBeginCapture);

DRIVER_API cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  return guarded(Needs::Healthy,
                 [&](State &state) { return end(state, stream, graph); });
}
DRIVER_PTSZ(cuStreamEndCapture);

DRIVER_API cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  return capturesOf(stream, status, nullptr, false);
}
DRIVER_PTSZ(cuStreamIsCapturing);

DRIVER_API cuStreamGetCaptureInfo(CUstream stream,
                                  CUstreamCaptureStatus *status, uint64_t *id) {
  return capturesOf(stream, status, id, false);
}
DRIVER_PTSZ(cuStreamGetCaptureInfo);

DRIVER_API cuStreamGetCaptureInfo_v2(CUstream stream,
                                     CUstreamCaptureStatus *status,
                                     uint64_t *id, CUgraph *graph,
                                     const CUgraphNode **dependencies,
                                     size_t *count) {
  return capturesOf(stream, status, id, graph || dependencies || count);
}
DRIVER_PTSZ(cuStreamGetCaptureInfo_v2);

DRIVER_API cuStreamGetCaptureInfo_v3(CUstream stream,
                                     CUstreamCaptureStatus *status,
                                     uint64_t *id, CUgraph *graph,
                                     const CUgraphNode **dependencies,
                                     const void **edges, size_t *count) {
  return capturesOf(stream, status, id,
                    graph || dependencies || edges || count);
}
DRIVER_PTSZ(cuStreamGetCaptureInfo_v3);
