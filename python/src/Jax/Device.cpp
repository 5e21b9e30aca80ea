//===- Device.cpp - Custom calls on a GPU ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels live as long as the process, so that they outlive the executables
// that call them. Neither they nor the calls need Python.
//
//===----------------------------------------------------------------------===//

#include "../LoadedModule.h"
#include "Call.h"

#include "fmha-c/Embedded.h"
#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Manifest.h"

#include <map>
#include <memory>
#include <shared_mutex>
#include <stdexcept>

namespace fmha::jax {
namespace {

using python::deviceCalls;

void check(runtime::driver::Result result, const char *what) {
  if (result)
    throw std::runtime_error(std::string(what) +
                             " failed: " + deviceCalls().describe(result));
}

void check(int status) {
  if (!status)
    return;
  if (status == FMHA_ERROR_DRIVER || status == FMHA_ERROR_NO_DRIVER)
    throw std::runtime_error(fmhaEmbeddedLastError());
  throw std::invalid_argument(fmhaEmbeddedLastError());
}

/// Returns the device of the current context.
int currentDevice() {
  runtime::driver::DeviceId id = 0;
  check(deviceCalls().contextGetDevice(&id),
        "asking for the device of the context");
  return id;
}

/// A kernel, which libfmha_rt loads once for each context.
class Kernel {
public:
  /// Creates the kernel of `call`, for GPUs like the current one.
  explicit Kernel(const Call &call)
      : ptx(call.attribute("ptx")), manifest(call.attribute("manifest")) {
    std::string problem;
    std::optional<launch::Manifest> parsed =
        launch::parseManifest(manifest, problem);
    if (!parsed)
      throw std::invalid_argument("manifest: " + problem);
    target = parsed->target;
    findCapability();
    image.target = target.c_str();
    image.ptx = ptx.c_str();
    image.ptx_bytes = ptx.size();
    image.manifest = manifest.c_str();
    check(fmhaEmbeddedLoad(&embedded));
    for (size_t i = 0; const char *name = fmhaEmbeddedTensorName(&embedded, i);
         ++i)
      names.push_back(name);
  }
  Kernel(const Kernel &) = delete;

  void launch(const Call &call);

private:
  void findCapability();

  std::string ptx, manifest, target;
  FmhaEmbeddedImage image = {};
  FmhaEmbeddedKernel embedded = {"fmha.jax", 1, &image, nullptr};
  /// The tensors of a launch, in order.
  std::vector<std::string> names;
};

void Kernel::findCapability() {
  namespace driver = runtime::driver;
  int numbers[2] = {}, device = currentDevice();
  const int attributes[] = {driver::attributeComputeCapabilityMajor,
                            driver::attributeComputeCapabilityMinor};
  for (int i : {0, 1})
    check(deviceCalls().deviceGetAttribute(&numbers[i], attributes[i], device),
          "asking for the compute capability");
  auto [major, minor] = numbers;
  if (!runtime::targetRunsOn(target, major, minor))
    throw std::invalid_argument(
        "target: expected one for a GPU of compute capability " +
        std::to_string(major) + "." + std::to_string(minor) + ", got " +
        target + "; trace the call with target= of that GPU");
  image.major = uint32_t(major);
  image.minor = uint32_t(minor);
}

DLDataType typeOf(int type) {
  switch (type) {
  case abi::F16:
    return {kDLFloat, 16, 1};
  case abi::BF16:
    return {kDLBfloat, 16, 1};
  case abi::F32:
    return {kDLFloat, 32, 1};
  case abi::I32:
    return {kDLInt, 32, 1};
  case abi::Bool:
    return {kDLBool, 8, 1};
  }
  throw std::invalid_argument("expected a buffer of float16, bfloat16, "
                              "float32, int32 or bool, got XLA's type " +
                              std::to_string(type));
}

DLTensor tensorOf(const abi::Buffer &buffer, int device) {
  return {buffer.data,
          {kDLCUDA, device},
          int32_t(buffer.rank),
          typeOf(buffer.type),
          buffer.dims,
          nullptr,
          0};
}

void Kernel::launch(const Call &call) {
  int device = currentDevice();
  std::vector<DLTensor> tensors;
  for (const std::string &name : names)
    tensors.push_back(tensorOf(call.buffer(name), device));
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  void *workspace = nullptr;
  if (const abi::Buffer *buffer = call.find("workspace")) {
    uint64_t bytes = 0;
    check(fmhaEmbeddedWorkspaceBytes(&embedded, pointers.data(),
                                     pointers.size(), &bytes));
    if (uint64_t(buffer->dims[0]) < bytes)
      throw std::invalid_argument(
          "workspace: expected " + std::to_string(bytes) + " bytes, got " +
          std::to_string(buffer->dims[0]) + "; trace the call again");
    workspace = buffer->data;
  }
  check(fmhaEmbeddedLaunch(&embedded, pointers.data(), pointers.size(),
                           workspace, static_cast<CUstream>(call.stream())));
}

/// Returns the kernel of a call, which the attribute `key` identifies.
Kernel &kernelOf(const Call &call) {
  static auto &lock = *new std::shared_mutex;
  static auto &all =
      *new std::map<std::string, std::unique_ptr<Kernel>, std::less<>>;
  std::string_view key = call.attribute("key");
  {
    std::shared_lock reading(lock);
    if (auto found = all.find(key); found != all.end())
      return *found->second;
  }
  std::unique_lock writing(lock);
  auto found = all.find(key);
  if (found == all.end())
    found = all.emplace(std::string(key), std::make_unique<Kernel>(call)).first;
  return *found->second;
}

} // namespace

void launchOnDevice(const Call &call) {
  python::enterDeviceContext(call.device());
  kernelOf(call).launch(call);
}

} // namespace fmha::jax
