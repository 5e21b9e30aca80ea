//===- Control.cpp - Functions of libptxsim.so beyond the driver API ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "fmha/PTX/Driver/PtxSim.h"

#ifndef FMHA_VERSION
#define FMHA_VERSION "unknown"
#endif

using namespace ptxsim::driver;
using Json = nlohmann::ordered_json;

#define CONTROL_API extern "C" __attribute__((visibility("default")))

namespace {

/// Keeps a text alive for the calling thread until its next call.
const char *keep(std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

/// Returns JSON text, replacing invalid UTF-8, which a finding may quote.
std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

CONTROL_API int ptxsimSetOption(const char *name, const char *value) {
  return guarded(Needs::Nothing, [&](State &state) {
    if (!name || !value)
      return fail(CUDA_ERROR_INVALID_VALUE, "the name or the value is null");
    if (auto wrong = setSetting(state.settings, name, value))
      return fail(CUDA_ERROR_INVALID_VALUE, *wrong);
    if (!state.initialized)
      state.chosen.emplace_back(name, value);
    return CUDA_SUCCESS;
  });
}

CONTROL_API const char *ptxsimLastReport(void) {
  std::string text;
  guarded(Needs::Nothing, [&](State &state) {
    text = dump(state.history.last);
    return CUDA_SUCCESS;
  });
  return keep(std::move(text));
}

CONTROL_API const char *ptxsimReport(void) {
  std::string text;
  guarded(Needs::Nothing, [&](State &state) {
    text = dump(wholeReport(state));
    return CUDA_SUCCESS;
  });
  return keep(std::move(text));
}

CONTROL_API uint64_t ptxsimWarpInstructions(void) {
  uint64_t count = 0;
  guarded(Needs::Nothing, [&](State &state) {
    count = state.history.lastWarpInstructions;
    return CUDA_SUCCESS;
  });
  return count;
}

CONTROL_API const char *ptxsimLastError(void) { return lastError().c_str(); }

CONTROL_API void ptxsimReset(void) {
  guarded(Needs::Nothing, [](State &state) {
    state.sticky = CUDA_SUCCESS;
    state.history = History();
    if (state.device)
      state.device->finishAll();
    return CUDA_SUCCESS;
  });
}

CONTROL_API const char *ptxsimVersion(void) { return FMHA_VERSION; }
