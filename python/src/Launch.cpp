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

#include "Module.h"

#include "fmha-c/Runtime.h"
#include "fmha/Runtime/Driver/Calls.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <numeric>
#include <stdexcept>

namespace nb = nanobind;
namespace driver = fmha::runtime::driver;

namespace {

/// The driver that libfmha_rt.so uses: the same choice opens the same library.
const driver::Calls &calls() {
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

void check(driver::Result result, const std::string &what) {
  if (result)
    throw std::runtime_error(what + " failed: " + calls().describe(result));
}

/// Python calls from any thread, of which only some have a context.
void enterContext(int device) {
  driver::Context context = nullptr;
  check(calls().getContext(&context), "asking for the current context");
  if (context)
    return;
  driver::DeviceId id = 0;
  check(calls().deviceGet(&id, device), "opening the device");
  check(calls().retainContext(&context, id), "creating a context");
  check(calls().setContext(context), "entering the context");
}

/// Sets the simulator as its variables say, or to its defaults: launches on
/// host arrays, in this process, have options of their own. A GPU has none.
void followEnvironment(const std::string &target) {
  if (!calls().isSimulator())
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
    check(calls().setOption(option, set && *set ? set : value),
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
    {"i8", {kDLInt, 8, 1}},     {"bool", {kDLBool, 8, 1}}};

/// An array of any library by DLPack, kept alive, with dimensions in an order
/// of our own.
class DeviceArray {
public:
  explicit DeviceArray(nb::ndarray<nb::ro> array) : owner(array) {
    for (size_t d = 0; d < array.ndim(); ++d) {
      shape.push_back(int64_t(array.shape(d)));
      strides.push_back(array.stride(d));
    }
  }
  DeviceArray permuted(const std::vector<size_t> &order) const {
    DeviceArray view = *this;
    for (size_t d = 0; d < order.size(); ++d) {
      view.shape[d] = shape.at(order[d]);
      view.strides[d] = strides.at(order[d]);
    }
    return view;
  }
  nb::tuple extents() const { return nb::tuple(nb::cast(shape)); }
  int device() const { return owner.device_id(); }
  std::string dtype() const {
    for (auto [name, type] : types)
      if (type.code == owner.dtype().code && type.bits == owner.dtype().bits &&
          owner.dtype().lanes == 1)
        return name;
    return "another type";
  }
  /// Valid as long as this object.
  DLTensor tensor() const {
    nb::dlpack::dtype type = owner.dtype();
    return {const_cast<void *>(owner.data()),
            {DLDeviceType(owner.device_type()), owner.device_id()},
            int32_t(shape.size()),
            {type.code, type.bits, type.lanes},
            const_cast<int64_t *>(shape.data()),
            const_cast<int64_t *>(strides.data()),
            0};
  }

private:
  nb::ndarray<nb::ro> owner;
  std::vector<int64_t> shape, strides;
};

using Made = nb::ndarray<nb::array_api, nb::device::cuda>;

/// Device memory for an array, zero where `zero`; freed with the array.
Made deviceEmpty(const std::vector<size_t> &shape, const std::string &type,
                 int device, bool zero, uint64_t stream) {
  const auto *found =
      std::find_if(std::begin(types), std::end(types),
                   [&](const auto &one) { return type == one.first; });
  if (found == std::end(types))
    throw nb::value_error(("unknown type " + type).c_str());
  DLDataType element = found->second;
  size_t bytes = std::accumulate(shape.begin(), shape.end(),
                                 size_t(element.bits / 8), std::multiplies<>());
  enterContext(device);
  driver::DevicePointer address = 0;
  check(calls().memAlloc(&address, std::max<size_t>(bytes, 16)),
        "allocating " + std::to_string(bytes) + " bytes of device memory");
  nb::capsule owner(reinterpret_cast<void *>(address), [](void *held) noexcept {
    calls().memFree(driver::DevicePointer(reinterpret_cast<uintptr_t>(held)));
  });
  if (zero && bytes)
    check(calls().set8Async(address, 0, bytes,
                            reinterpret_cast<driver::Stream>(stream)),
          "clearing device memory");
  return Made(reinterpret_cast<void *>(address), shape.size(), shape.data(),
              owner, nullptr,
              nb::dlpack::dtype{element.code, element.bits, element.lanes},
              nb::device::cuda::value, device);
}

/// A loaded kernel, with a workspace for each stream that it is launched on.
class LoadedModule {
public:
  LoadedModule(const std::string &ptx, const std::string &manifest,
               const std::string &target, int device)
      : target(target) {
    enterContext(device);
    followEnvironment(target);
    check(fmhaModuleLoad(ptx.data(), ptx.size(), manifest.c_str(), &module));
  }
  LoadedModule(const LoadedModule &) = delete;
  ~LoadedModule() {
    // Launches may still use what is given back.
    calls().synchronize();
    for (auto &[stream, workspace] : workspaces)
      calls().memFree(workspace.address);
    fmhaModuleUnload(module);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (size_t n = 0; n < fmhaTensorCount(module); ++n)
      all.push_back(fmhaTensorName(module, n));
    return all;
  }

  void launch(const std::vector<const DeviceArray *> &arrays, uint64_t stream) {
    std::vector<DLTensor> tensors;
    for (const DeviceArray *array : arrays)
      tensors.push_back(array->tensor());
    std::vector<const DLTensor *> pointers;
    for (const DLTensor &tensor : tensors)
      pointers.push_back(&tensor);
    uint64_t bytes = 0;
    check(fmhaWorkspaceBytes(module, pointers.data(), pointers.size(), &bytes));
    void *workspace = bytes ? reserve(bytes, stream) : nullptr;
    followEnvironment(target);
    // The simulator runs the kernel in this call.
    FmhaStatus status;
    {
      nb::gil_scoped_release unlocked;
      status = fmhaLaunch(module, pointers.data(), pointers.size(), workspace,
                          reinterpret_cast<CUstream>(stream));
    }
    check(status);
  }

private:
  struct Workspace {
    driver::DevicePointer address = 0;
    uint64_t bytes = 0;
  };
  /// Launches on one stream run one after the other and share their workspace.
  /// Freeing one that grows waits for those that use it.
  void *reserve(uint64_t bytes, uint64_t stream) {
    Workspace &held = workspaces[stream];
    if (held.bytes < bytes) {
      driver::DevicePointer fresh = 0;
      check(calls().memAlloc(&fresh, bytes), "allocating the workspace");
      if (held.address)
        calls().memFree(held.address);
      held = {fresh, bytes};
    }
    return reinterpret_cast<void *>(held.address);
  }

  FmhaModule module = nullptr;
  std::string target;
  std::map<uint64_t, Workspace> workspaces;
};

} // namespace

void fmha::python::bindLaunch(nb::module_ &module) {
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def(nb::init<nb::ndarray<nb::ro>>(), nb::arg("array"))
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
      .def("launch", &LoadedModule::launch, nb::arg("arrays"),
           nb::arg("stream"));
  module.def("device_empty", &deviceEmpty, nb::arg("shape"), nb::arg("dtype"),
             nb::arg("device"), nb::arg("zero"), nb::arg("stream"));
}
