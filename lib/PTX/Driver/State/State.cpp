//===- State.cpp - State of the driver API --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstdio>
#include <mutex>
#include <new>

namespace ptxsim::driver {
namespace {

/// Never destroyed: a host's own exit handlers may still free memory.
struct Process {
  std::mutex mutex;
  State state;
};
Process &process() {
  static Process *const instance = new Process;
  return *instance;
}

CUresult check(State &state, Needs needs) {
  if (needs == Needs::Nothing)
    return CUDA_SUCCESS;
  if (!state.initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit(0) has not been called");
  if (needs == Needs::Init)
    return CUDA_SUCCESS;
  if (!currentContext(state)) {
    if (!contextStack().empty())
      return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                  "the current context has been destroyed");
    return fail(CUDA_ERROR_INVALID_CONTEXT,
                "no context is current: call cuCtxCreate or cuCtxSetCurrent");
  }
  if (needs == Needs::Context)
    return CUDA_SUCCESS;
  if (state.sticky != CUDA_SUCCESS)
    return fail(state.sticky, "an earlier launch failed: see the report");
  return needs == Needs::Uncaptured ? rejectDuringCapture(state) : CUDA_SUCCESS;
}

CUresult resultOf(const Error &error) {
  switch (error.kind) {
  case Error::Kind::Syntax:
    return CUDA_ERROR_INVALID_PTX;
  case Error::Kind::Unsupported:
    return CUDA_ERROR_NOT_SUPPORTED;
  case Error::Kind::Launch:
  case Error::Kind::Memory:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_UNKNOWN;
}

} // namespace

CUresult guarded(Needs needs, const std::function<CUresult(State &)> &body) {
  try {
    Process &here = process();
    std::lock_guard<std::mutex> lock(here.mutex);
    if (CUresult result = check(here.state, needs))
      return result;
    return body(here.state);
  } catch (const Error &error) {
    return fail(resultOf(error), error.what());
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    return fail(CUDA_ERROR_UNKNOWN, error.what());
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// Returns the calling thread's own object. Destructors of static objects run
/// after those of the main thread's objects and may still call the driver: they
/// get one that is never destroyed.
template <typename T> static T &ofThread() {
  thread_local bool hasEnded = false;
  struct Owner {
    T value;
    ~Owner() { hasEnded = true; }
  };
  static T *const last = new T();
  if (hasEnded)
    return *last;
  thread_local Owner owner;
  return owner.value;
}

std::vector<CUcontext> &contextStack() {
  return ofThread<std::vector<CUcontext>>();
}

CUcontext currentContext(State &state) {
  const std::vector<CUcontext> &stack = contextStack();
  if (stack.empty() || !state.contexts.contains(stack.back()))
    return nullptr;
  return stack.back();
}

std::string &lastError() { return ofThread<std::string>(); }

CUresult fail(CUresult result, std::string why) {
  lastError() = std::move(why);
  return result;
}

CUresult failWithMessage(State &state, CUresult result, std::string why) {
  if (state.settings.messages)
    std::fprintf(stderr, "ptxsim: %s%s", why.c_str(),
                 why.empty() || why.back() == '\n' ? "" : "\n");
  return fail(result, std::move(why));
}

} // namespace ptxsim::driver
