//===- Runtime.cpp - The functions of fmha-c/Runtime.h --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundTensors.h"

#include "fmha/Runtime/Driver/Attributes.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace fmha::capi {
namespace {

namespace driver = runtime::driver;
using launch::Parameter;

/// Returns the value of a parameter that names a capture. An empty capture,
/// whose contents do not matter, has extents of 1 and the address of q.
uint64_t captureValue(const FmhaModuleImpl &module, const BoundTensors &bound,
                      const Parameter &parameter) {
  size_t first = module.roles.size() - module.attention->captures.size();
  const DLTensor &tensor = *bound.tensors[first + *parameter.capture];
  if (parameter.size)
    return uint64_t(std::max<int64_t>(tensor.shape[*parameter.size], 1));
  if (parameter.stride)
    return uint64_t(strideOf(tensor, int32_t(*parameter.stride)));
  return isEmpty(tensor) ? bound.view(launch::TensorName::Q).address
                         : addressOf(tensor);
}

uint64_t numberOf(const FmhaModuleImpl &module, const BoundTensors &bound,
                  const Parameter &parameter) {
  if (parameter.capture)
    return captureValue(module, bound, parameter);
  if (parameter.kind == Parameter::Kind::Pointer)
    return bound.view(parameter.tensor).address;
  return bound.values[parameter.value];
}

FmhaStatus encode(const FmhaModuleImpl &module, MapCache &cache,
                  const Parameter &parameter, const BoundTensors &bound,
                  driver::TensorMap *map) {
  launch::MapRequest request;
  std::string why;
  if (!launch::describeMap(parameter, bound.view(parameter.tensor),
                           bound.values, request, why))
    return fail(FMHA_ERROR_STRIDES, why);
  driver::Result result = cache.get(*module.driver, request, map);
  if (!result)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_DRIVER, "tensor '" +
                                     std::string(nameOf(parameter.tensor)) +
                                     "': expected one of which the driver "
                                     "makes a tensor map, got " +
                                     module.driver->describe(result));
}

FmhaStatus packNumber(const FmhaModuleImpl &module, const BoundTensors &bound,
                      const Parameter &parameter, unsigned char *place) {
  // Little-endian, so that a u32 is the first half of the number.
  uint64_t number = numberOf(module, bound, parameter);
  std::memcpy(place, &number, sizeof(number));
  if (parameter.kind != Parameter::Kind::U32 || number <= UINT32_MAX)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_SHAPE, "parameter '" + parameter.name +
                                    "': expected at most " +
                                    std::to_string(UINT32_MAX) + ", got " +
                                    std::to_string(number));
}

/// Writes the arguments of the kernel of `entry`.
FmhaStatus pack(const FmhaModuleImpl &module, Entry &entry,
                const BoundTensors &bound, unsigned char *arguments) {
  size_t map = 0;
  const std::vector<Parameter> &parameters = entry.launch->parameters;
  for (size_t n = 0; n < parameters.size(); ++n) {
    unsigned char *place = arguments + entry.layout.offsets[n];
    bool isMap = parameters[n].kind == Parameter::Kind::TensorMap;
    FmhaStatus status =
        isMap ? encode(module, entry.maps[map++], parameters[n], bound,
                       reinterpret_cast<driver::TensorMap *>(place))
              : packNumber(module, bound, parameters[n], place);
    if (status)
      return status;
  }
  return FMHA_SUCCESS;
}

bool isEmpty(const launch::Grid &grid) {
  return !grid[0] || !grid[1] || !grid[2];
}

FmhaStatus tilesOf(const launch::KernelLaunch &kernel,
                   const BoundTensors &bound, launch::Grid &grid) {
  std::string why;
  if (launch::evaluateTiles(kernel, bound.values, grid, why))
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_GRID, why);
}

/// Makes the context current that the module was loaded into, unless the thread
/// has one.
FmhaStatus enterContext(const FmhaModuleImpl &module) {
  driver::Context current = nullptr;
  if (FmhaStatus status =
          check(*module.driver, module.driver->getContext(&current),
                "asking for the current context"))
    return status;
  if (current)
    return FMHA_SUCCESS;
  return check(*module.driver, module.driver->setContext(module.context),
               "entering the context");
}

/// Checks the tensors and computes the arguments of the kernels.
FmhaStatus makePlan(FmhaModuleImpl &module, const DLTensor *const *tensors,
                    size_t n, const FmhaLaunchOptions &options,
                    LaunchPlan &plan) {
  BoundTensors bound;
  if (FmhaStatus status =
          bindShapes(module, tensors, n, options.max_q_len, bound))
    return status;
  auto &[grid, rows] = plan.grids;
  if (FmhaStatus status = tilesOf(*module.first.launch, bound, grid))
    return status;
  if (module.combine)
    if (FmhaStatus status = tilesOf(*module.combine->launch, bound, rows))
      return status;
  if (FmhaStatus status = bindAddresses(module, options, bound))
    return status;
  if (isEmpty(grid)) {
    rows = {};
    return FMHA_SUCCESS;
  }
  if (FmhaStatus status = enterContext(module))
    return status;
  if (module.countsTiles())
    plan.counter = bound.view(launch::TensorName::TileCounter).address;
  bound.values[launch::RunValue::Tiles] = grid[0];
  if (module.maxCtas)
    grid[0] = launch::boundCtas(*module.first.launch, grid[0], module.maxCtas);
  FmhaStatus status = pack(module, module.first, bound, plan.arguments);
  if (status || isEmpty(rows))
    return status;
  return pack(module, *module.combine, bound,
              plan.arguments + module.first.layout.bytes);
}

driver::Result submit(const FmhaModuleImpl &module, const Entry &entry,
                      const launch::Grid &grid, unsigned char *arguments,
                      CUstream stream) {
  const launch::KernelLaunch &kernel = *entry.launch;
  // A launch sets the entries that its parameters use.
  void *pointers[mostParameters];
  for (size_t n = 0; n < entry.layout.offsets.size(); ++n)
    pointers[n] = arguments + entry.layout.offsets[n];
  driver::LaunchAttributes attributes = driver::attributesOf(kernel);
  driver::LaunchConfig config = {};
  std::copy(grid.begin(), grid.end(), config.grid);
  std::copy(kernel.block.begin(), kernel.block.end(), config.block);
  config.dynamicSmemBytes = kernel.smemBytes;
  config.stream = reinterpret_cast<driver::Stream>(stream);
  attributes.setOn(config);
  return module.driver->launchKernel(&config, entry.function, pointers,
                                     nullptr);
}

/// Calls `call` on the assumption that the thread has a context, as all but the
/// first launch of a thread do. If the context is gone, calls it again: a call
/// without a context fails without any effect.
template <typename Call>
FmhaStatus inContext(const FmhaModuleImpl &module, const char *what,
                     Call call) {
  driver::Result result = call();
  if (result == driver::errorInvalidContext) {
    if (FmhaStatus status = enterContext(module))
      return status;
    result = call();
  }
  return check(*module.driver, result, what);
}

FmhaStatus submitAgain(const FmhaModuleImpl &module, const Entry &entry,
                       const launch::Grid &grid, unsigned char *arguments,
                       CUstream stream) {
  return inContext(module, "launching the kernel", [&] {
    return submit(module, entry, grid, arguments, stream);
  });
}

/// Sets the tile counter to 0. A launch leaves it at 0, but the workspace may
/// be new, or other kernels may have written to it.
FmhaStatus clearCounter(const FmhaModuleImpl &module, uint64_t counter,
                        CUstream stream) {
  return inContext(module, "clearing the tile counter", [&] {
    return module.driver->set32Async(counter, 0, 1,
                                     reinterpret_cast<driver::Stream>(stream));
  });
}

FmhaStatus launchPlan(const FmhaModuleImpl &module, LaunchPlan &plan,
                      CUstream stream) {
  const auto &[grid, rows] = plan.grids;
  if (isEmpty(grid))
    return FMHA_SUCCESS;
  // A query before each launch would cost as much as finding the plan.
  thread_local bool hasLaunched = false;
  if (!hasLaunched)
    if (FmhaStatus status = enterContext(module))
      return status;
  hasLaunched = true;
  if (plan.counter)
    if (FmhaStatus status = clearCounter(module, plan.counter, stream))
      return status;
  FmhaStatus status =
      submitAgain(module, module.first, grid, plan.arguments, stream);
  if (status || isEmpty(rows))
    return status;
  return submitAgain(module, *module.combine, rows,
                     plan.arguments + module.first.layout.bytes, stream);
}

FmhaStatus launchAll(FmhaModuleImpl &module, const DLTensor *const *tensors,
                     size_t n, const FmhaLaunchOptions &options) {
  LaunchPlan plan;
  LaunchKey key(module.roles, tensors, n, options);
  if (!key.isValid() || !module.plans.find(key, plan)) {
    if (FmhaStatus status = makePlan(module, tensors, n, options, plan))
      return status;
    if (key.isValid())
      module.plans.keep(key, plan);
  }
  return launchPlan(module, plan, options.stream);
}

/// Stops C++ exceptions, which can only be std::bad_alloc, at the C interface.
template <typename Call> FmhaStatus guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    // Short enough to need no allocation itself.
    return fail(FMHA_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return fail(FMHA_ERROR_INVALID_ARGUMENT, error.what());
  }
}

FmhaStatus needModule(FmhaModule module) {
  if (module)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_INVALID_ARGUMENT,
              "module: expected one of fmhaModuleLoad(), got NULL");
}

} // namespace
} // namespace fmha::capi

using namespace fmha::capi;

FmhaStatus fmhaModuleLoad(const void *image, size_t bytes,
                          const char *manifest_json, FmhaModule *module) {
  return guarded(
      [&] { return loadModule(image, bytes, manifest_json, module); });
}

FmhaStatus fmhaModuleUnload(FmhaModule module) {
  return guarded([&] { return unloadModule(module); });
}

size_t fmhaTensorCount(FmhaModule module) {
  return module ? module->roles.size() : 0;
}

const char *fmhaTensorName(FmhaModule module, size_t i) {
  return i < fmhaTensorCount(module) ? module->roles[i].name.c_str() : nullptr;
}

FmhaStatus fmhaWorkspaceBytes(FmhaModule module, const DLTensor *const *tensors,
                              size_t n, uint64_t *bytes) {
  return guarded([&] {
    if (FmhaStatus status = needModule(module))
      return status;
    if (!bytes)
      return fail(FMHA_ERROR_INVALID_ARGUMENT,
                  "bytes: expected an address, got NULL");
    BoundTensors bound;
    if (FmhaStatus status = bindShapes(*module, tensors, n, 0, bound))
      return status;
    *bytes = bound.workspaceBytes;
    return FMHA_SUCCESS;
  });
}

FmhaStatus fmhaLaunch(FmhaModule module, const DLTensor *const *tensors,
                      size_t n, void *workspace, CUstream stream) {
  FmhaLaunchOptions options = {sizeof(options), stream, workspace, 0, 0};
  return fmhaLaunchWith(module, tensors, n, &options);
}

FmhaStatus fmhaLaunchWith(FmhaModule module, const DLTensor *const *tensors,
                          size_t n, const FmhaLaunchOptions *options) {
  return guarded([&] {
    if (FmhaStatus status = needModule(module))
      return status;
    FmhaLaunchOptions chosen = {};
    if (options && options->struct_bytes != sizeof(chosen))
      return fail(FMHA_ERROR_INVALID_ARGUMENT,
                  "options: expected struct_bytes " +
                      std::to_string(sizeof(chosen)) + ", got " +
                      std::to_string(options->struct_bytes) +
                      "; set it to sizeof(FmhaLaunchOptions)");
    if (options)
      chosen = *options;
    return launchAll(*module, tensors, n, chosen);
  });
}

const char *fmhaLastError(void) { return lastMessage(); }
