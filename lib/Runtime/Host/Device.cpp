//===- Device.cpp - A device with the driver API --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/Process.h"

namespace fmha::runtime {
namespace {

struct Capability {
  int major = 0, minor = 0;
  char suffix = 0;
};

/// Parses "sm_100a" as 10, 0, 'a'.
std::optional<Capability> parseTarget(llvm::StringRef target) {
  unsigned number = 0;
  if (!target.consume_front("sm_") || target.consumeInteger(10, number))
    return std::nullopt;
  Capability capability{int(number / 10), int(number % 10), 0};
  if (target.empty())
    return capability;
  if (target != "a" && target != "f")
    return std::nullopt;
  capability.suffix = target[0];
  return capability;
}

std::string findSimulator() {
  if (auto path = llvm::sys::Process::GetEnv("FMHA_PTXSIM"))
    return *path;
  return driver::findNearLibrary("libptxsim.so");
}

} // namespace

bool targetRunsOn(llvm::StringRef target, int major, int minor) {
  std::optional<Capability> wanted = parseTarget(target);
  if (!wanted)
    return false;
  std::pair<int, int> want(wanted->major, wanted->minor), have(major, minor);
  if (wanted->suffix == 'a')
    return want == have;
  return want <= have && (wanted->suffix != 'f' || want.first == have.first);
}

DeviceMemory::~DeviceMemory() {
  if (pointer)
    api->memFree(pointer);
}

LoadedKernel::~LoadedKernel() {
  if (module)
    api->moduleUnload(module);
}

llvm::Expected<std::unique_ptr<Device>>
Device::open(const DeviceOptions &options) {
  bool simulator = options.kind == DeviceKind::Simulator;
  std::string library = options.library;
  if (library.empty())
    library = simulator ? findSimulator() : "libcuda.so.1";
  llvm::Expected<driver::Api> api = driver::load(library);
  if (!api)
    return failure(llvm::toString(api.takeError()) +
                   (simulator ? "; build libptxsim.so, or name it with "
                                "FMHA_PTXSIM"
                              : "; install NVIDIA's driver, or run on the "
                                "simulator with --device=sim"));
  std::unique_ptr<Device> device(new Device(std::move(*api)));
  if (llvm::Error error = device->start(options))
    return std::move(error);
  return std::move(device);
}

llvm::Error Device::start(const DeviceOptions &options) {
  // The report is read back as JSON and printed by the caller.
  if (isSimulator())
    if (llvm::Error error = setOptions({{"target", options.target},
                                        {"on-finding", "report"},
                                        {"messages", "off"}}))
      return error;
  if (llvm::Error error = calls.check(calls.init(0), "initializing the driver"))
    return error;
  int count = 0;
  if (llvm::Error error =
          calls.check(calls.deviceGetCount(&count), "counting devices"))
    return error;
  if (count == 0)
    return failure("'" + calls.library +
                   "' finds no GPU: expected one that "
                   "runs " +
                   options.target + "; run on the simulator with --device=sim");
  if (llvm::Error error =
          calls.check(calls.deviceGet(&id, 0), "opening device 0"))
    return error;
  if (llvm::Error error = checkTarget(options))
    return error;
  driver::Context context = nullptr;
  if (llvm::Error error =
          calls.check(calls.retainContext(&context, id), "creating a context"))
    return error;
  retained = true;
  return calls.check(calls.setContext(context), "entering the context");
}

llvm::Error Device::checkTarget(const DeviceOptions &options) {
  char name[256] = "";
  int major = 0, minor = 0;
  calls.deviceGetName(name, sizeof(name), id);
  deviceName = name;
  if (llvm::Error error =
          calls.check(calls.deviceGetAttribute(
                          &major, driver::attributeComputeCapabilityMajor, id),
                      "asking for the compute capability"))
    return error;
  if (llvm::Error error =
          calls.check(calls.deviceGetAttribute(
                          &minor, driver::attributeComputeCapabilityMinor, id),
                      "asking for the compute capability"))
    return error;
  if (targetRunsOn(options.target, major, minor))
    return llvm::Error::success();
  std::optional<Capability> wanted = parseTarget(options.target);
  std::string expected = options.target;
  if (wanted)
    expected = "compute capability " + std::to_string(wanted->major) + "." +
               std::to_string(wanted->minor) +
               (wanted->suffix == 'a' ? "" : " or newer");
  return failure("the GPU found cannot run " + options.target + ": expected " +
                 expected + ", got '" + deviceName + "' of " +
                 llvm::Twine(major) + "." + llvm::Twine(minor) +
                 "; pass the target of this GPU, or run on the simulator with "
                 "--device=sim");
}

std::optional<uint32_t> Device::multiprocessors() const {
  int count = 0;
  if (calls.deviceGetAttribute(&count, driver::attributeMultiprocessorCount,
                               id) ||
      count <= 0)
    return std::nullopt;
  return uint32_t(count);
}

Device::~Device() {
  kernels.clear();
  if (retained)
    calls.releaseContext(id);
}

llvm::Error Device::setOptions(
    const std::vector<std::pair<std::string, std::string>> &options) {
  if (!isSimulator())
    return failure("'" + calls.library +
                   "' is a real driver and takes no "
                   "simulator options");
  for (const auto &[name, value] : options) {
    if (calls.setOption(name.c_str(), value.c_str()) == 0)
      continue;
    const char *reason = calls.lastError ? calls.lastError() : nullptr;
    return failure("the simulator rejects " + name + "=" + value +
                   (reason && *reason ? std::string(": ") + reason : ""));
  }
  return llvm::Error::success();
}

llvm::Expected<DeviceMemory> Device::allocate(size_t bytes) {
  driver::DevicePointer address = 0;
  if (llvm::Error error = calls.check(calls.memAlloc(&address, bytes),
                                      "allocating " + llvm::Twine(bytes) +
                                          " bytes of device memory"))
    return std::move(error);
  return DeviceMemory(&calls, address, bytes);
}

llvm::Expected<std::shared_ptr<const LoadedKernel>>
Device::loadKernel(const std::string &ptx, const std::string &kernel,
                   uint32_t smemBytes) {
  std::lock_guard lock(kernelsMutex);
  auto found = kernels.find({ptx, kernel});
  if (found != kernels.end())
    return found->second;
  auto loaded = assemble(ptx, kernel, smemBytes);
  if (!loaded)
    return loaded.takeError();
  if (kernels.size() == maxKernels)
    kernels.clear();
  kernels[{ptx, kernel}] = *loaded;
  return loaded;
}

llvm::Expected<std::shared_ptr<const LoadedKernel>>
Device::assemble(const std::string &ptx, const std::string &kernel,
                 uint32_t smemBytes) {
  driver::Module module = nullptr;
  if (llvm::Error error = calls.check(
          calls.moduleLoad(&module, ptx.c_str(), 0, nullptr, nullptr),
          "loading the PTX"))
    return std::move(error);
  auto loaded = std::make_shared<LoadedKernel>(calls, module);
  if (llvm::Error error = calls.check(
          calls.moduleGetFunction(&loaded->function, module, kernel.c_str()),
          "finding the entry '" + kernel + "'"))
    return std::move(error);
  if (llvm::Error error =
          calls.check(calls.functionSetAttribute(
                          loaded->function, driver::functionMaxDynamicSmemBytes,
                          int(smemBytes)),
                      "allowing " + llvm::Twine(smemBytes) +
                          " bytes of dynamic shared memory"))
    return std::move(error);
  return loaded;
}

} // namespace fmha::runtime
