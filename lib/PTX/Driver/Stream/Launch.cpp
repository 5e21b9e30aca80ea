//===- Launch.cpp - Launching kernels -------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults.h"
#include "Module/Parameters.h"
#include "State/Order.h"
#include "fmha/PTX/Host/Report.h"
#include "fmha/PTX/Time/Json.h"

#include <cstdio>

using namespace ptxsim::driver;
using ptxsim::Dim3;
using ptxsim::Error;
using ptxsim::LaunchConfig;
using ptxsim::LaunchResult;
using ptxsim::Status;
using Json = nlohmann::ordered_json;

namespace {

struct Request {
  CUfunction function;
  Dim3 grid, block;
  std::optional<Dim3> cluster;
  bool programmatic;
  unsigned sharedBytes;
  void **pointers, **extra;
};

std::string text(const Dim3 &d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " +
         std::to_string(d.z) + ")";
}

CUresult reject(CUresult result, const std::string &what,
                const std::string &got, const std::string &expected) {
  return fail(result, "launch rejected: " + what + " is " + got +
                          ", expected " + expected);
}

CUresult checkShape(const Request &request) {
  const Dim3 &grid = request.grid, &block = request.block;
  constexpr CUresult bad = CUDA_ERROR_INVALID_VALUE;
  if (grid.count() == 0 || grid.x > 0x7FFFFFFF || grid.y > 65535 ||
      grid.z > 65535)
    return reject(bad, "the grid", text(grid),
                  "1..2^31-1 by 1..65535 by 1..65535; do not launch an empty "
                  "grid");
  if (block.count() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > 1024)
    return reject(bad, "the block", text(block),
                  "1..1024 by 1..1024 by 1..64, 1024 threads at most");
  const auto &entry = *request.function->entry;
  if (entry.maxBlock && block.count() > entry.maxBlock->count())
    return reject(bad, "the block", text(block),
                  "at most the entry's .maxntid " + text(*entry.maxBlock));
  const auto &required = entry.requiredBlock;
  if (required && (block.x != required->x || block.y != required->y ||
                   block.z != required->z))
    return reject(bad, "the block", text(block),
                  "the entry's .reqntid " + text(*required));
  if (request.sharedBytes > request.function->maxDynamicShared)
    return reject(
        bad, "the dynamic shared memory", std::to_string(request.sharedBytes),
        "at most " + std::to_string(request.function->maxDynamicShared) +
            "; raise MAX_DYNAMIC_SHARED_SIZE_BYTES first");
  return CUDA_SUCCESS;
}

CUresult checkCluster(State &state, const Request &request) {
  constexpr CUresult bad = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  constexpr unsigned portable = 8, largest = 16;
  const auto &required = request.function->entry->requiredCluster;
  const std::optional<Dim3> &given = request.cluster;
  if (required && given &&
      (given->x != required->x || given->y != required->y ||
       given->z != required->z))
    return reject(bad, "the cluster", text(*given),
                  "the entry's .reqnctapercluster " + text(*required));
  if (!given && !required)
    return CUDA_SUCCESS;
  Dim3 cluster = given ? *given : *required;
  unsigned limit = request.function->nonPortableCluster ? largest : portable;
  if (state.target().cc < 90)
    limit = 1;
  if (cluster.count() == 0 || cluster.count() > limit)
    return reject(bad, "the cluster", text(cluster),
                  "1.." + std::to_string(limit) + " CTAs");
  const Dim3 &grid = request.grid;
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return reject(bad, "the grid", text(grid),
                  "a multiple of the cluster " + text(cluster));
  return CUDA_SUCCESS;
}

Json describeLaunch(const Request &request) {
  Json json;
  json["schema_version"] = 1;
  json["entry"] = request.function->entry->name;
  json["grid"] = ptxsim::toJson(request.grid);
  json["block"] = ptxsim::toJson(request.block);
  json["cluster"] =
      request.cluster ? ptxsim::toJson(*request.cluster) : Json(nullptr);
  json["dynamic_smem_bytes"] = request.sharedBytes;
  return json;
}

Json complete(Json json, const char *status, const Json &error,
              const LaunchResult &result, double seconds) {
  json["status"] = status;
  json["error"] = error;
  json["findings"] = ptxsim::toJson(result.findings);
  json["deadlock"] =
      result.deadlock ? ptxsim::toJson(*result.deadlock) : Json(nullptr);
  json["findings_dropped"] = result.findingsDropped;
  json["warp_instructions"] = result.warpInstructions;
  json["seconds_run"] = seconds;
  return json;
}

void print(const State &state, const CUmod_st &module,
           const LaunchResult &result) {
  constexpr size_t most = 20;
  if (!state.settings.messages)
    return;
  size_t shown = std::min(most, result.findings.size());
  for (size_t i = 0; i < shown; ++i) {
    const ptxsim::Finding &finding = result.findings[i];
    std::fputs(ptxsim::describe(
                   result.deadlock ? ptxsim::withoutWaitList(finding) : finding,
                   module.name, module.text)
                   .c_str(),
               stderr);
  }
  if (result.deadlock)
    std::fputs(ptxsim::describe(*result.deadlock).c_str(), stderr);
  uint64_t hidden = result.findings.size() - shown + result.findingsDropped;
  if (hidden)
    std::fprintf(stderr, "ptxsim: %llu more finding%s\n",
                 static_cast<unsigned long long>(hidden),
                 hidden == 1 ? "" : "s");
  if (result.status == Status::StepLimit)
    std::fprintf(stderr,
                 "ptxsim: the launch was stopped after %llu warp "
                 "instructions (max-steps)\n",
                 static_cast<unsigned long long>(result.warpInstructions));
}

/// Returns the file for the timeline of the next launch.
std::string timelineFileOf(const State &state) {
  uint64_t number = state.history.launches + 1;
  return state.settings.timelineFile +
         (number == 1 ? "" : "." + std::to_string(number));
}

/// Launches, and if the option is on adds the modeled time to `json`.
LaunchResult launchFor(State &state, const CUmod_st &module,
                       const LaunchConfig &config, Json &json) {
  const ptxsim::Options &options = state.settings.options;
  if (!state.settings.time)
    return ptxsim::launch(*state.device, module.module, config, options);
  bool draws = !state.settings.timelineFile.empty();
  std::string timeline;
  std::optional<ptxsim::timing::Estimate> time;
  using ptxsim::timing::FrontEnd;
  ptxsim::timing::TimeOptions how{state.settings.sass ? FrontEnd::Sass
                                                      : FrontEnd::Ptx,
                                  draws ? &timeline : nullptr,
                                  state.settings.timeSms,
                                  state.settings.isL2Warm,
                                  state.settings.timeDraws,
                                  state.settings.timeSm};
  LaunchResult result =
      ptxsim::timing::launchTimed(*state.device, module.module, config, options,
                                  state.target().text(), time, how);
  if (!time)
    return result;
  json.update(ptxsim::timing::toJson(&*time));
  if (draws)
    if (auto wrong = ptxsim::writeWhole(timelineFileOf(state), timeline))
      std::fprintf(stderr, "ptxsim: %s\n", wrong->c_str());
  return result;
}

/// Runs a checked request, and stores the outcome.
CUresult run(State &state, const Request &request, LaunchConfig config) {
  CUmod_st &module = *request.function->module;
  Json json = describeLaunch(request);
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&start] {
    std::chrono::duration<double> span =
        std::chrono::steady_clock::now() - start;
    return span.count();
  };
  try {
    LaunchResult result = launchFor(state, module, config, json);
    record(state,
           complete(json, ptxsim::nameOf(result.status), nullptr, result,
                    seconds()),
           result.status, false);
    print(state, module, result);
    if (state.settings.failOnFinding)
      state.sticky = faultOf(result);
    return CUDA_SUCCESS;
  } catch (const Error &error) {
    std::string why = ptxsim::describe(error, module.name, module.text);
    record(state, complete(json, "error", why, {}, seconds()), Status::Ok,
           true);
    return failWithMessage(state,
                           error.kind == Error::Kind::Unsupported
                               ? CUDA_ERROR_NOT_SUPPORTED
                               : CUDA_ERROR_INVALID_VALUE,
                           why);
  }
}

/// Returns a function that launches a kernel from a graph, with the argument
/// bytes copied during the capture.
std::function<CUresult()> nodeOf(const Request &request, LaunchConfig config) {
  return [request, config = std::move(config)] {
    return guarded(Needs::Healthy, [&](State &state) {
      if (!state.functions.count(request.function))
        return fail(CUDA_ERROR_INVALID_HANDLE,
                    "the module of a kernel of the graph was unloaded");
      return run(state, request, config);
    });
  };
}

LaunchConfig configOf(const State &state, const Request &request,
                      ParameterBytes parameters) {
  LaunchConfig config;
  config.entry = request.function->entry->name;
  config.grid = request.grid;
  config.block = request.block;
  config.cluster = request.cluster;
  config.dynamicSharedBytes = request.sharedBytes;
  config.parameters = std::move(parameters);
  // Earlier devices do not overlap grids, and have no griddepcontrol.
  config.programmatic = request.programmatic && state.target().cc >= 90;
  return config;
}

/// Launches the kernel in each replay of the captured graph.
void captureLaunch(State &state, Capture &capture, CUstream stream,
                   const Request &request, LaunchConfig config) {
  auto [found, isNew] = capture.kernelStreams.try_emplace(stream, 0);
  if (isNew)
    found->second = state.nextId++;
  config.stream = found->second;
  addNode(capture, stream, {nodeOf(request, std::move(config)), found->second});
}

CUresult launch(const Request &request, CUstream stream) {
  return guarded(Needs::Healthy, [&](State &state) {
    std::shared_ptr<Capture> capture;
    if (!state.functions.count(request.function))
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult error = capturing(state, stream, capture))
      return error;
    if (CUresult result = checkShape(request))
      return result;
    if (CUresult result = checkCluster(state, request))
      return result;
    const auto &entry = *request.function->entry;
    auto parameters = gatherParameters(entry, state.target().cc,
                                       request.pointers, request.extra);
    if (auto *why = std::get_if<std::string>(&parameters))
      return fail(CUDA_ERROR_INVALID_VALUE, "launch rejected: " + *why);
    LaunchConfig config = configOf(
        state, request, std::get<ParameterBytes>(std::move(parameters)));
    if (capture) {
      captureLaunch(state, *capture, stream, request, std::move(config));
      return CUDA_SUCCESS;
    }
    config.stream = numberOf(stream);
    orderOtherStreams(state, stream);
    return run(state, request, std::move(config));
  });
}

/// Returns the value of an attribute of the launch, or null. Attributes with no
/// effect here are accepted: priorities, domains of memory synchronization,
/// events that a launch triggers, programmatic ones too.
const CUlaunchAttributeValue *findAttribute(const CUlaunchConfig &config,
                                            CUlaunchAttributeID id) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == id)
      return &config.attrs[i].value;
  return nullptr;
}

std::optional<Dim3> clusterOf(const CUlaunchConfig &config) {
  const auto *value = findAttribute(config, LaunchClusterDimension);
  if (!value)
    return std::nullopt;
  return Dim3{value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
}

bool isProgrammatic(const CUlaunchConfig &config) {
  const auto *value =
      findAttribute(config, LaunchProgrammaticStreamSerialization);
  return value && value->programmaticStreamSerializationAllowed;
}

} // namespace

DRIVER_API cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                          unsigned gridZ, unsigned blockX, unsigned blockY,
                          unsigned blockZ, unsigned sharedBytes,
                          CUstream stream, void **parameters, void **extra) {
  return launch({function,
                 {gridX, gridY, gridZ},
                 {blockX, blockY, blockZ},
                 std::nullopt,
                 false,
                 sharedBytes,
                 parameters,
                 extra},
                stream);
}
DRIVER_PTSZ(cuLaunchKernel);

DRIVER_API cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                            void **parameters, void **extra) {
  if (!config || (config->numAttrs && !config->attrs))
    return guarded(Needs::Healthy,
                   [](State &) { return CUDA_ERROR_INVALID_VALUE; });
  return launch({function,
                 {config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 clusterOf(*config),
                 isProgrammatic(*config),
                 config->sharedMemBytes,
                 parameters,
                 extra},
                config->hStream);
}
DRIVER_PTSZ(cuLaunchKernelEx);

/// A plain launch: grid-wide synchronization is up to the kernel.
DRIVER_API cuLaunchCooperativeKernel(CUfunction function, unsigned gridX,
                                     unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY,
                                     unsigned blockZ, unsigned sharedBytes,
                                     CUstream stream, void **parameters) {
  return cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                        sharedBytes, stream, parameters, nullptr);
}
DRIVER_PTSZ(cuLaunchCooperativeKernel);

/// All earlier work is done, so the function runs now, outside the lock.
DRIVER_API cuLaunchHostFunc(CUstream stream, void (*function)(void *),
                            void *data) {
  if (!function)
    return guarded(Needs::Healthy,
                   [](State &) { return CUDA_ERROR_INVALID_VALUE; });
  return submit(stream, [=] {
    function(data);
    return CUDA_SUCCESS;
  });
}
DRIVER_PTSZ(cuLaunchHostFunc);
