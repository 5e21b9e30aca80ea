//===- Launch.cpp - Launches on device arrays for Python ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of libfmha_rt.so, and arrays of other libraries that lie in device
// memory. Nothing is copied.
//
//===----------------------------------------------------------------------===//

#include "LoadedModule.h"
#include "Module.h"

#include "fmha/Runtime/Driver/DeviceMemory.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace nb = nanobind;
namespace driver = fmha::runtime::driver;
using namespace fmha::python;

namespace {

/// Lives as long as the process: arrays may outlive the module.
driver::DeviceMemory &deviceMemory() {
  static auto *memory = new driver::DeviceMemory(deviceCalls());
  return *memory;
}

void check(driver::Result result, const std::string &what) {
  if (result)
    throw std::runtime_error(what +
                             " failed: " + deviceCalls().describe(result));
}

/// Sets the simulator as its variables say, or to its defaults: launches on
/// host arrays, in this process, have options of their own. A GPU has none.
void followEnvironment(const std::string &target) {
  if (!deviceCalls().isSimulator())
    return;
  const std::pair<const char *, const char *> usual[] = {
      {"target", target.c_str()}, {"policy", "eager"},    {"seed", "0"},
      {"checks", "all"},          {"conformance", "isa"}, {"mma", "fast"},
      {"approx", "correct"},      {"on-finding", "fail"}, {"messages", "on"}};
  for (auto [option, value] : usual) {
    std::string variable = std::string("PTXSIM_") + option;
    std::replace(variable.begin(), variable.end(), '-', '_');
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    const char *set = std::getenv(variable.c_str());
    check(deviceCalls().setOption(option, set && *set ? set : value),
          "setting the simulator's option " + std::string(option));
  }
}

void check(FmhaStatus status) {
  switch (status) {
  case FMHA_SUCCESS:
    return;
  case FMHA_ERROR_DTYPE:
    throw nb::type_error(fmhaLastError());
  case FMHA_ERROR_MANIFEST:
  case FMHA_ERROR_NO_DRIVER:
  case FMHA_ERROR_DRIVER:
    throw std::runtime_error(fmhaLastError());
  case FMHA_ERROR_OUT_OF_MEMORY:
    throw std::bad_alloc();
  default:
    throw nb::value_error(fmhaLastError());
  }
}

/// Element types by the names of the compiler.
const std::pair<const char *, DLDataType> types[] = {
    {"f16", {kDLFloat, 16, 1}}, {"bf16", {kDLBfloat, 16, 1}},
    {"f32", {kDLFloat, 32, 1}}, {"i32", {kDLInt, 32, 1}},
    {"i8", {kDLInt, 8, 1}},     {"bool", {kDLBool, 8, 1}},
    {"u8", {kDLUInt, 8, 1}},    {"e4m3", {kDLFloat8_e4m3fn, 8, 1}}};

} // namespace

const driver::Calls &fmha::python::deviceCalls() {
  static const driver::Calls *opened = [] {
    std::string why;
    std::optional<driver::Calls> found = driver::openDefault(why);
    if (!found)
      throw std::runtime_error(why);
    if (driver::Result result = found->init(0))
      throw std::runtime_error("the driver fails to start: " +
                               found->describe(result));
    return new driver::Calls(std::move(*found));
  }();
  return *opened;
}

void fmha::python::enterDeviceContext(int device) {
  driver::Context context = nullptr;
  check(deviceCalls().getContext(&context), "asking for the current context");
  if (context)
    return;
  driver::DeviceId id = 0;
  check(deviceCalls().deviceGet(&id, device), "opening the device");
  check(deviceCalls().retainContext(&context, id), "creating a context");
  check(deviceCalls().setContext(context), "entering the context");
}

namespace {

/// Returns the major and the minor compute capability of a device, or nullopt
/// for one of the simulator that PTXSIM_TARGET does not name: it runs any
/// kernel.
std::optional<std::pair<int, int>> computeCapability(int device) {
  const char *named = std::getenv("PTXSIM_TARGET");
  if (deviceCalls().isSimulator() && !(named && *named))
    return std::nullopt;
  driver::DeviceId id = 0;
  check(deviceCalls().deviceGet(&id, device), "opening the device");
  std::pair<int, int> capability;
  check(deviceCalls().deviceGetAttribute(
            &capability.first, driver::attributeComputeCapabilityMajor, id),
        "asking for the compute capability");
  check(deviceCalls().deviceGetAttribute(
            &capability.second, driver::attributeComputeCapabilityMinor, id),
        "asking for the compute capability");
  return capability;
}

} // namespace

DeviceArray::DeviceArray(nb::handle array)
    : owner(array), shape(size_t(owner->ndim)), strides(shape.size()) {
  copyShape(*owner, shape.data(), strides.data());
}

DeviceArray DeviceArray::permuted(const std::vector<size_t> &order) const {
  DeviceArray view = *this;
  for (size_t d = 0; d < order.size(); ++d) {
    view.shape[d] = shape.at(order[d]);
    view.strides[d] = strides.at(order[d]);
  }
  return view;
}

nb::tuple DeviceArray::extents() const { return nb::tuple(nb::cast(shape)); }

std::string DeviceArray::dtype() const {
  for (auto [name, type] : types)
    if (type.code == owner->dtype.code && type.bits == owner->dtype.bits &&
        owner->dtype.lanes == 1)
      return name;
  return "another type";
}

DLTensor DeviceArray::tensor() const {
  DLTensor view = *owner;
  view.shape = const_cast<int64_t *>(shape.data());
  view.strides = const_cast<int64_t *>(strides.data());
  return view;
}

Made fmha::python::deviceEmpty(const std::vector<size_t> &shape,
                               const std::string &type, int device, bool zero,
                               uint64_t stream) {
  const auto *found =
      std::find_if(std::begin(types), std::end(types),
                   [&](const auto &one) { return type == one.first; });
  if (found == std::end(types))
    throw nb::value_error(("unknown type " + type).c_str());
  DLDataType element = found->second;
  size_t bytes = std::accumulate(shape.begin(), shape.end(),
                                 size_t(element.bits / 8), std::multiplies<>());
  enterDeviceContext(device);
  driver::DevicePointer address = 0;
  check(deviceMemory().take(bytes, device, stream, address),
        "allocating " + std::to_string(bytes) + " bytes of device memory");
  nb::capsule owner(reinterpret_cast<void *>(address), [](void *held) noexcept {
    deviceMemory().giveBack(reinterpret_cast<uintptr_t>(held));
  });
  if (zero && bytes)
    check(deviceCalls().set8Async(address, 0, bytes,
                                  reinterpret_cast<driver::Stream>(stream)),
          "clearing device memory");
  return Made(reinterpret_cast<void *>(address), shape.size(), shape.data(),
              owner, nullptr,
              nb::dlpack::dtype{element.code, element.bits, element.lanes},
              nb::device::cuda::value, device);
}

/// Returns whether launches on the stream become nodes of a graph.
static bool isCapturing(uint64_t stream) {
  int status = 0;
  check(deviceCalls().streamIsCapturing(
            reinterpret_cast<driver::Stream>(stream), &status),
        "asking whether the stream is captured");
  return status;
}

LoadedModule::LoadedModule(const std::string &ptx, const std::string &manifest,
                           const std::string &target, int device)
    : target(target) {
  enterDeviceContext(device);
  followEnvironment(target);
  check(fmhaModuleLoad(ptx.data(), ptx.size(), manifest.c_str(), &module));
}

LoadedModule::~LoadedModule() {
  // A graph may run the kernel at any later time.
  if (inGraph)
    return;
  // Launches may still use what is given back.
  deviceCalls().synchronize();
  for (auto &[stream, workspace] : workspaces)
    deviceCalls().memFree(workspace.address);
  fmhaModuleUnload(module);
}

std::vector<std::string> LoadedModule::names() const {
  std::vector<std::string> all;
  for (size_t n = 0; n < fmhaTensorCount(module); ++n)
    all.push_back(fmhaTensorName(module, n));
  return all;
}

uint64_t LoadedModule::workspaceBytes(
    const std::vector<const DLTensor *> &tensors) const {
  uint64_t bytes = 0;
  check(fmhaWorkspaceBytes(module, tensors.data(), tensors.size(), &bytes));
  return bytes;
}

void LoadedModule::launch(const DLTensor *const *tensors, size_t count,
                          uint64_t bytes, uint64_t stream) {
  bool isCaptured = isCapturing(stream);
  inGraph |= isCaptured;
  void *workspace = bytes ? reserve(bytes, stream, isCaptured) : nullptr;
  followEnvironment(target);
  // The simulator runs the kernel in this call.
  FmhaStatus status;
  {
    nb::gil_scoped_release unlocked;
    status = fmhaLaunch(module, tensors, count, workspace,
                        reinterpret_cast<CUstream>(stream));
  }
  check(status);
}

/// Launches on one stream run one after the other and share their workspace.
/// Freeing one that grows waits for those that use it; one of a graph is never
/// freed, since the graph writes to it whenever it runs.
void *LoadedModule::reserve(uint64_t bytes, uint64_t stream, bool isCaptured) {
  Workspace &held = workspaces[stream];
  if (held.bytes < bytes) {
    driver::DevicePointer fresh = 0;
    check(deviceCalls().memAlloc(&fresh, bytes),
          isCaptured ? "allocating the workspace in a capture, which expects a "
                       "launch like this one before it,"
                     : "allocating the workspace");
    if (held.address && !held.inGraph)
      deviceCalls().memFree(held.address);
    held = {fresh, bytes};
  }
  held.inGraph |= isCaptured;
  return reinterpret_cast<void *>(held.address);
}

/// Returns the bytes of the workspace.
static uint64_t launchOn(LoadedModule &module,
                         const std::vector<const DeviceArray *> &arrays,
                         uint64_t stream) {
  std::vector<DLTensor> tensors;
  for (const DeviceArray *array : arrays)
    tensors.push_back(array->tensor());
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  uint64_t bytes = module.workspaceBytes(pointers);
  module.launch(pointers.data(), pointers.size(), bytes, stream);
  return bytes;
}

void fmha::python::bindLaunch(nb::module_ &module) {
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def(nb::init<nb::handle>(), nb::arg("array"))
      .def("permuted", &DeviceArray::permuted, nb::arg("order"))
      .def_prop_ro("shape", &DeviceArray::extents)
      .def_prop_ro("device", &DeviceArray::device)
      .def_prop_ro("dtype", &DeviceArray::dtype);
  nb::class_<LoadedModule>(module, "LoadedModule")
      .def(nb::init<const std::string &, const std::string &,
                    const std::string &, int>(),
           nb::arg("ptx"), nb::arg("manifest"), nb::arg("target"),
           nb::arg("device"))
      .def_prop_ro("names", &LoadedModule::names)
      .def("launch", &launchOn, nb::arg("arrays"), nb::arg("stream"));
  module.def("compute_capability", &computeCapability, nb::arg("device"));
  module.def("device_empty", &deviceEmpty, nb::arg("shape"), nb::arg("dtype"),
             nb::arg("device"), nb::arg("zero"), nb::arg("stream"));
  bindLaunchPlans(module);
}
