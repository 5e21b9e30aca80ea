//===- Stream.cpp - Streams and events, which are synchronous here --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/Order.h"

using namespace ptxsim::driver;

namespace {

/// Runs `body` for a default stream (null, CU_STREAM_LEGACY or
/// CU_STREAM_PER_THREAD) or an existing one.
CUresult withStream(CUstream stream, Needs needs,
                    const std::function<CUresult(State &)> &body) {
  return guarded(Needs::Context, [&](State &state) {
    if (!isDefault(stream) && !state.streams.contains(stream))
      return CUDA_ERROR_INVALID_HANDLE;
    if (needs == Needs::Healthy && state.sticky != CUDA_SUCCESS)
      return state.sticky;
    return body(state);
  });
}

CUresult withEvent(CUevent event,
                   const std::function<CUresult(State &)> &body) {
  return guarded(Needs::Context, [&](State &state) {
    if (!state.events.contains(event))
      return CUDA_ERROR_INVALID_HANDLE;
    return body(state);
  });
}

CUresult createStream(CUstream *out, unsigned flags, int priority) {
  if (!out || flags > 1)
    return guarded(Needs::Context,
                   [](State &) { return CUDA_ERROR_INVALID_VALUE; });
  return guarded(Needs::Healthy, [&](State &state) {
    auto stream = std::make_unique<CUstream_st>();
    stream->flags = flags;
    stream->priority = priority;
    stream->context = currentContext(state);
    stream->id = state.nextId++;
    *out = state.streams.add(std::move(stream));
    return CUDA_SUCCESS;
  });
}

/// Waits for a stream, or queries its state. Fails for a capturing stream, in
/// any mode of capture.
CUresult awaitStream(CUstream stream) {
  return withStream(stream, Needs::Healthy, [&](State &state) {
    if (isDefault(stream))
      if (CUresult error = rejectInDefaultStream(state))
        return error;
    if (isDefault(stream) || !stream->capture) {
      orderStream(state, stream);
      return rejectDuringCapture(state);
    }
    stream->capture->invalid = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "the stream captures: end the capture and launch its graph");
  });
}

CUresult record(CUevent event, CUstream stream) {
  return withStream(stream, Needs::Context, [&](State &state) {
    if (!state.events.contains(event))
      return CUDA_ERROR_INVALID_HANDLE;
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    std::shared_ptr<Capture> capture;
    if (CUresult error = capturing(state, stream, capture))
      return error;
    event->captured.reset();
    if (capture) {
      event->captured = {capture, capture->clocks[stream]};
      return CUDA_SUCCESS;
    }
    event->recorded = true;
    event->stream = numberOf(stream);
    event->launches = state.device->launches();
    event->when = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
}

CUresult awaitEvent(CUevent event) {
  return withEvent(event, [&](State &state) {
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    if (!event->captured) {
      if (event->recorded)
        state.device->finish(event->stream, event->launches);
      return rejectDuringCapture(state);
    }
    std::shared_ptr<Capture> capture = event->captured->capture.lock();
    if (!capture)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  "the event was last recorded in a capture that has ended");
    capture->invalid = true;
    return fail(CUDA_ERROR_CAPTURED_EVENT,
                "the event was last recorded in a stream that captures");
  });
}

/// Makes `stream` wait for an event of the capture `from`, which the stream
/// joins.
CUresult joinCapture(CUstream stream, const CapturedMoment &moment,
                     const std::shared_ptr<Capture> &from) {
  if (stream->capture && stream->capture != from) {
    stream->capture->invalid = from->invalid = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                "the stream and the event belong to two captures");
  }
  if (from->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  stream->capture = from;
  from->kernelStreams.erase(stream);
  CaptureClock &clock = from->clocks[stream];
  for (const auto &[other, count] : moment.clock)
    clock[other] = std::max(clock[other], count);
  return CUDA_SUCCESS;
}

CUresult waitEvent(State &state, CUstream stream, CUevent event) {
  std::shared_ptr<Capture> capture;
  if (CUresult error = capturing(state, stream, capture))
    return error;
  if (event->captured) {
    std::shared_ptr<Capture> from = event->captured->capture.lock();
    if (from && !isDefault(stream))
      return joinCapture(stream, *event->captured, from);
    if (from || capture)
      (from ? from : capture)->invalid = true;
    return from ? fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                       "a default stream cannot join a capture")
                : fail(CUDA_ERROR_INVALID_VALUE,
                       "the event was last recorded in a capture that has "
                       "ended");
  }
  if (!event->recorded)
    return CUDA_SUCCESS;
  if (!capture) {
    orderStream(state, stream);
    return CUDA_SUCCESS;
  }
  capture->invalid = true;
  return fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
              "the event was recorded outside of the capture");
}

} // namespace

DRIVER_API cuStreamCreate(CUstream *out, unsigned flags) {
  return createStream(out, flags, 0);
}
DRIVER_API cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                      int priority) {
  return createStream(out, flags, priority);
}

DRIVER_API cuStreamDestroy_v2(CUstream stream) {
  return guarded(Needs::Context, [&](State &state) {
    if (!state.streams.contains(stream))
      return CUDA_ERROR_INVALID_HANDLE;
    forgetStreams(state, [&](CUstream other) { return other == stream; });
    state.device->finish(numberOf(stream));
    state.streams.erase(stream);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuStreamSynchronize(CUstream stream) { return awaitStream(stream); }
DRIVER_PTSZ(cuStreamSynchronize);
DRIVER_API cuStreamQuery(CUstream stream) { return awaitStream(stream); }
DRIVER_PTSZ(cuStreamQuery);

DRIVER_API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return withStream(stream, Needs::Context, [&](State &state) {
    if (!state.events.contains(event))
      return CUDA_ERROR_INVALID_HANDLE;
    return state.sticky != CUDA_SUCCESS ? state.sticky
                                        : waitEvent(state, stream, event);
  });
}
DRIVER_PTSZ(cuStreamWaitEvent);

DRIVER_API cuStreamGetCtx(CUstream stream, CUcontext *out) {
  return withStream(stream, Needs::Context, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = isDefault(stream) ? currentContext(state) : stream->context;
    return CUDA_SUCCESS;
  });
}
DRIVER_PTSZ(cuStreamGetCtx);

DRIVER_API cuStreamGetFlags(CUstream stream, unsigned *flags) {
  return withStream(stream, Needs::Context, [&](State &) {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = isDefault(stream) ? 0 : stream->flags;
    return CUDA_SUCCESS;
  });
}
DRIVER_PTSZ(cuStreamGetFlags);

DRIVER_API cuStreamGetPriority(CUstream stream, int *priority) {
  return withStream(stream, Needs::Context, [&](State &) {
    if (!priority)
      return CUDA_ERROR_INVALID_VALUE;
    *priority = isDefault(stream) ? 0 : stream->priority;
    return CUDA_SUCCESS;
  });
}
DRIVER_PTSZ(cuStreamGetPriority);

DRIVER_API cuStreamGetId(CUstream stream, unsigned long long *id) {
  return withStream(stream, Needs::Context, [&](State &) {
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    *id = isDefault(stream) ? 0 : stream->id;
    return CUDA_SUCCESS;
  });
}
DRIVER_PTSZ(cuStreamGetId);

DRIVER_API cuEventCreate(CUevent *out, unsigned flags) {
  if (!out || flags > 7)
    return guarded(Needs::Context,
                   [](State &) { return CUDA_ERROR_INVALID_VALUE; });
  return guarded(Needs::Healthy, [&](State &state) {
    auto event = std::make_unique<CUevent_st>();
    event->flags = flags;
    *out = state.events.add(std::move(event));
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuEventDestroy_v2(CUevent event) {
  return guarded(Needs::Context, [&](State &state) {
    return state.events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

DRIVER_API cuEventRecord(CUevent event, CUstream stream) {
  return record(event, stream);
}
DRIVER_PTSZ(cuEventRecord);
DRIVER_API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return record(event, stream);
}
DRIVER_PTSZ(cuEventRecordWithFlags);
DRIVER_API cuEventSynchronize(CUevent event) { return awaitEvent(event); }
DRIVER_API cuEventQuery(CUevent event) { return awaitEvent(event); }

/// Wall-clock time of the simulation, not of a device.
DRIVER_API cuEventElapsedTime_v2(float *milliseconds, CUevent start,
                                 CUevent end) {
  return guarded(Needs::Context, [&](State &state) {
    for (CUevent event : {start, end})
      if (!state.events.contains(event) || !event->recorded ||
          (event->flags & eventDisableTiming))
        return CUDA_ERROR_INVALID_HANDLE;
    // Not INVALID_VALUE: this is the result of a real driver.
    if (!milliseconds)
      return CUDA_ERROR_INVALID_HANDLE;
    std::chrono::duration<float, std::milli> span = end->when - start->when;
    *milliseconds = span.count();
    return state.sticky;
  });
}
DRIVER_TWIN(cuEventElapsedTime_v2, cuEventElapsedTime);
