//===- Embedded.cpp - Kernels embedded in C programs ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of fmha-c/Embedded.h. A kernel is loaded once per context; the
// kernel's state has the list of its modules.
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Embedded.h"
#include "Failure.h"
#include "Module.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace fmha::capi {
namespace {

namespace driver = runtime::driver;

/// A context, identified by its number, which is never reused, or by its
/// address if the driver gives no number.
struct Home {
  driver::Context context = nullptr;
  unsigned long long number = 0;
  bool operator==(const Home &) const = default;
};

struct State {
  std::mutex turn;
  std::vector<std::pair<Home, FmhaModule>> modules;
};

State &stateOf(FmhaEmbeddedKernel &kernel) {
  std::atomic_ref<void *> place(kernel.state);
  void *there = place.load();
  if (there)
    return *static_cast<State *>(there);
  auto *made = new State;
  if (place.compare_exchange_strong(there, made))
    return *made;
  delete made;
  return *static_cast<State *>(there);
}

/// Finds the current context. A thread without one gets the primary context of
/// device 0.
FmhaStatus findHome(const driver::Calls &calls, Home &home) {
  if (FmhaStatus status = check(calls, calls.getContext(&home.context),
                                "asking for the current context"))
    return status;
  if (!home.context) {
    driver::DeviceId device = 0;
    if (FmhaStatus status =
            check(calls, calls.deviceGet(&device, 0), "opening device 0"))
      return status;
    if (FmhaStatus status =
            check(calls, calls.retainContext(&home.context, device),
                  "creating a context"))
      return status;
    if (FmhaStatus status = check(calls, calls.setContext(home.context),
                                  "entering the context"))
      return status;
  }
  if (calls.contextGetId(home.context, &home.number))
    home.number = 0;
  return FMHA_SUCCESS;
}

std::string targetsOf(const FmhaEmbeddedKernel &kernel) {
  std::string text;
  for (uint64_t i = 0; i < kernel.count; ++i)
    text += (i ? ", " : "") + std::string(kernel.images[i].target);
  return text;
}

/// Finds the image for the device of the current context.
FmhaStatus pick(const driver::Calls &calls, const FmhaEmbeddedKernel &kernel,
                const FmhaEmbeddedImage *&image) {
  driver::DeviceId device = 0;
  if (FmhaStatus status = check(calls, calls.contextGetDevice(&device),
                                "asking for the device of the context"))
    return status;
  int major = 0, minor = 0;
  const std::pair<int *, int> asked[] = {
      {&major, driver::attributeComputeCapabilityMajor},
      {&minor, driver::attributeComputeCapabilityMinor}};
  for (auto [value, attribute] : asked)
    if (FmhaStatus status =
            check(calls, calls.deviceGetAttribute(value, attribute, device),
                  "asking for the compute capability"))
      return status;
  for (uint64_t i = 0; i < kernel.count; ++i)
    if (kernel.images[i].major == uint32_t(major) &&
        kernel.images[i].minor == uint32_t(minor)) {
      image = &kernel.images[i];
      return FMHA_SUCCESS;
    }
  return fail(FMHA_ERROR_DEVICE,
              std::string(kernel.name) + ": expected a device for one of " +
                  targetsOf(kernel) + ", got device " + std::to_string(device) +
                  " of compute capability " + std::to_string(major) + "." +
                  std::to_string(minor) +
                  "; compile for it too, with fmha-compile --target");
}

/// Loads the image from ptxas, or the PTX if the driver rejects the image.
FmhaStatus load(const driver::Calls &calls, const FmhaEmbeddedImage &image,
                FmhaModule *module) {
  // The simulator accepts only PTX.
  if (image.cubin && !calls.isSimulator() &&
      !loadModule(image.cubin, image.cubin_bytes, image.manifest, module))
    return FMHA_SUCCESS;
  return loadModule(image.ptx, image.ptx_bytes, image.manifest, module);
}

/// Opens the driver and finds the current context.
FmhaStatus begin(const FmhaEmbeddedKernel *kernel, const driver::Calls *&calls,
                 Home &home) {
  if (!kernel)
    return fail(FMHA_ERROR_INVALID_ARGUMENT,
                "kernel: expected an address, got NULL");
  std::string why;
  calls = openDriver(why);
  if (!calls)
    return fail(FMHA_ERROR_NO_DRIVER, why);
  return findHome(*calls, home);
}

/// Finds the module of `kernel` in the current context, and loads it first if
/// necessary.
FmhaStatus enter(FmhaEmbeddedKernel *kernel, FmhaModule &module) {
  const driver::Calls *calls = nullptr;
  Home home;
  if (FmhaStatus status = begin(kernel, calls, home))
    return status;
  State &state = stateOf(*kernel);
  std::lock_guard<std::mutex> lock(state.turn);
  for (auto &[at, loaded] : state.modules)
    if (at == home) {
      module = loaded;
      return FMHA_SUCCESS;
    }
  const FmhaEmbeddedImage *image = nullptr;
  if (FmhaStatus status = pick(*calls, *kernel, image))
    return status;
  if (FmhaStatus status = load(*calls, *image, &module))
    return status;
  state.modules.emplace_back(home, module);
  return FMHA_SUCCESS;
}

/// Removes the module of the context `home` from the list and returns it; null
/// if there is none.
FmhaModule remove(FmhaEmbeddedKernel &kernel, const Home &home) {
  State &state = stateOf(kernel);
  std::lock_guard<std::mutex> lock(state.turn);
  for (auto at = state.modules.begin(); at != state.modules.end(); ++at)
    if (at->first == home) {
      FmhaModule module = at->second;
      state.modules.erase(at);
      return module;
    }
  return nullptr;
}

FmhaStatus unload(FmhaEmbeddedKernel *kernel) {
  const driver::Calls *calls = nullptr;
  Home home;
  if (FmhaStatus status = begin(kernel, calls, home))
    return status;
  return unloadModule(remove(*kernel, home));
}

/// Stops C++ exceptions, which can only be std::bad_alloc, at the C interface.
template <typename Call> int guarded(Call call) {
  try {
    return call();
  } catch (const std::exception &error) {
    return fail(FMHA_ERROR_OUT_OF_MEMORY, error.what());
  }
}

/// Calls `use` with the loaded module.
template <typename Use> int withModule(FmhaEmbeddedKernel *kernel, Use use) {
  return guarded([&] {
    FmhaModule module = nullptr;
    FmhaStatus status = enter(kernel, module);
    return status ? status : use(module);
  });
}

} // namespace
} // namespace fmha::capi

using namespace fmha::capi;

int fmhaEmbeddedLoad(FmhaEmbeddedKernel *kernel) {
  return withModule(kernel, [](FmhaModule) { return FMHA_SUCCESS; });
}

int fmhaEmbeddedWorkspaceBytes(FmhaEmbeddedKernel *kernel,
                               const DLTensor *const *tensors, size_t count,
                               uint64_t *bytes) {
  return withModule(kernel, [&](FmhaModule module) {
    return fmhaWorkspaceBytes(module, tensors, count, bytes);
  });
}

int fmhaEmbeddedLaunch(FmhaEmbeddedKernel *kernel,
                       const DLTensor *const *tensors, size_t count,
                       void *workspace, CUstream_st *stream) {
  return withModule(kernel, [&](FmhaModule module) {
    return fmhaLaunch(module, tensors, count, workspace, stream);
  });
}

int fmhaEmbeddedUnload(FmhaEmbeddedKernel *kernel) {
  return guarded([&] { return unload(kernel); });
}

const char *fmhaEmbeddedTensorName(FmhaEmbeddedKernel *kernel, size_t i) {
  const char *name = nullptr;
  withModule(kernel, [&](FmhaModule module) {
    name = fmhaTensorName(module, i);
    return FMHA_SUCCESS;
  });
  return name;
}

const char *fmhaEmbeddedLastError(void) { return fmhaLastError(); }
