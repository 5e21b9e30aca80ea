//===- Context.cpp - Initialization and contexts --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/State.h"

#include <algorithm>

using namespace ptxsim::driver;

namespace {

constexpr int driverVersion = 13000;

/// A CUlimit and its initial value on an H100.
struct Limit {
  int id;
  size_t bytes;
};
constexpr Limit defaultLimits[] = {
    {0, 1024},    // STACK_SIZE
    {1, 8650752}, // PRINTF_FIFO_SIZE
    {2, 8388608}, // MALLOC_HEAP_SIZE
    {4, 2048},    // DEV_RUNTIME_PENDING_LAUNCH_COUNT
    {5, 64},      // MAX_L2_FETCH_GRANULARITY
};
constexpr int limitCount = 10;

CUcontext makeContext(State &state, unsigned flags, bool primary) {
  auto context = std::make_unique<CUctx_st>();
  context->flags = flags;
  context->primary = primary;
  context->id = state.nextId++;
  return state.contexts.add(std::move(context));
}

/// Frees the resources of the context and removes it from this thread's stack.
void destroyContext(State &state, CUcontext context) {
  for (auto it = state.allocations.begin(); it != state.allocations.end();) {
    if (it->second.context != context) {
      ++it;
      continue;
    }
    state.device->free(it->first);
    state.allocatedBytes -= it->second.bytes;
    it = state.allocations.erase(it);
  }
  std::erase_if(state.functions, [&](const auto &item) {
    return item.second->context == context && !item.second->library;
  });
  state.modules.eraseIf([&](const CUmod_st &module) {
    return module.context == context && !module.library;
  });
  std::erase_if(state.hostRanges, [&](const auto &item) {
    bool gone = item.second.registered && item.second.context == context;
    if (gone)
      state.device->free(CUdeviceptr(item.first));
    return gone;
  });
  state.device->finishAll();
  forgetStreams(state,
                [&](CUstream stream) { return stream->context == context; });
  state.streams.eraseIf(
      [&](const CUstream_st &stream) { return stream.context == context; });
  std::erase(contextStack(), context);
  state.contexts.erase(context);
}

CUresult create(CUcontext *out, unsigned flags, CUdevice device) {
  return guarded(Needs::Init, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    *out = makeContext(state, flags, false);
    contextStack().push_back(*out);
    return CUDA_SUCCESS;
  });
}

} // namespace

DRIVER_API cuInit(unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return guarded(Needs::Nothing, [&](State &state) {
    if (state.initialized)
      return CUDA_SUCCESS;
    // Options set by ptxsimSetOption before cuInit override the environment.
    Settings settings;
    if (auto wrong = readEnvironment(settings))
      return failWithMessage(state, CUDA_ERROR_INVALID_VALUE, *wrong);
    for (const auto &[name, value] : state.chosen)
      setSetting(settings, name, value);
    state.settings = std::move(settings);
    state.device = std::make_unique<ptxsim::Device>();
    state.initialized = true;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = driverVersion;
  return CUDA_SUCCESS;
}

DRIVER_API cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device) {
  return create(out, flags, device);
}

DRIVER_API cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *, int,
                          unsigned flags, CUdevice device) {
  return create(out, flags, device);
}

DRIVER_API cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *, unsigned flags,
                          CUdevice device) {
  return create(out, flags, device);
}

DRIVER_API cuCtxDestroy_v2(CUcontext context) {
  return guarded(Needs::Init, [&](State &state) {
    if (!state.contexts.contains(context) || context->primary)
      return context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    destroyContext(state, context);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxSetCurrent(CUcontext context) {
  return guarded(Needs::Init, [&](State &state) {
    if (context && !state.contexts.contains(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    std::vector<CUcontext> &stack = contextStack();
    if (!stack.empty())
      stack.pop_back();
    if (context)
      stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetCurrent(CUcontext *out) {
  return guarded(Needs::Init, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = contextStack().empty() ? nullptr : contextStack().back();
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxPushCurrent_v2(CUcontext context) {
  return guarded(Needs::Init, [&](State &state) {
    if (!state.contexts.contains(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    contextStack().push_back(context);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxPopCurrent_v2(CUcontext *out) {
  return guarded(Needs::Init, [&](State &state) {
    std::vector<CUcontext> &stack = contextStack();
    if (stack.empty())
      return CUDA_ERROR_INVALID_CONTEXT;
    if (out)
      *out = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

/// Waits for all streams, which is forbidden during a capture of any mode.
static CUresult synchronize(State &state) {
  state.device->finishAll();
  if (state.sticky != CUDA_SUCCESS || state.captures.empty())
    return state.sticky;
  for (const std::shared_ptr<Capture> &capture : state.captures)
    capture->invalid = true;
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream captures");
}

DRIVER_API cuCtxSynchronize() { return guarded(Needs::Healthy, synchronize); }

DRIVER_API cuCtxSynchronize_v2(CUcontext context) {
  return guarded(Needs::Init, [&](State &state) {
    return state.contexts.contains(context) ? synchronize(state)
                                            : CUDA_ERROR_INVALID_CONTEXT;
  });
}

DRIVER_API cuCtxGetDevice(CUdevice *device) {
  return guarded(Needs::Context, [&](State &) {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetFlags(unsigned *flags) {
  return guarded(Needs::Context, [&](State &state) {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = currentContext(state)->flags;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetId(CUcontext context, unsigned long long *id) {
  return guarded(Needs::Init, [&](State &state) {
    CUcontext which = context ? context : currentContext(state);
    if (!which || !state.contexts.contains(which))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    *id = which->id;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  return guarded(Needs::Init, [&](State &state) {
    if (context && !state.contexts.contains(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!version)
      return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return guarded(Needs::Context, [&](State &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = 0;
    return CUDA_SUCCESS;
  });
}

/// Limits have no effect here, but hosts set them before their first launch.
DRIVER_API cuCtxSetLimit(int limit, size_t value) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (limit < 0 || limit >= limitCount)
      return CUDA_ERROR_INVALID_VALUE;
    state.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxGetLimit(size_t *value, int limit) {
  return guarded(Needs::Healthy, [&](State &state) {
    if (!value || limit < 0 || limit >= limitCount)
      return CUDA_ERROR_INVALID_VALUE;
    auto chosen = state.limits.find(limit);
    auto known = std::ranges::find(defaultLimits, limit, &Limit::id);
    if (known == std::end(defaultLimits))
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = chosen == state.limits.end() ? known->bytes : chosen->second;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuCtxSetCacheConfig(int) {
  return guarded(Needs::Healthy, [](State &) { return CUDA_SUCCESS; });
}

DRIVER_API cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  return guarded(Needs::Init, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    if (!state.primary)
      state.primary = makeContext(state, state.primaryFlags, true);
    ++state.primaryUses;
    *out = state.primary;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return guarded(Needs::Init, [&](State &state) {
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    if (!state.primaryUses)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--state.primaryUses == 0) {
      destroyContext(state, state.primary);
      state.primary = nullptr;
    }
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return guarded(Needs::Init, [&](State &state) {
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    if (state.primary)
      destroyContext(state, state.primary);
    state.primary = nullptr;
    state.primaryUses = 0;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return guarded(Needs::Init, [&](State &state) {
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    state.primaryFlags = flags;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                      int *active) {
  return guarded(Needs::Init, [&](State &state) {
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = state.primaryFlags;
    *active = state.primary != nullptr;
    return CUDA_SUCCESS;
  });
}
