//===- LoadedModule.h - Launches on device arrays for Python ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PYTHON_SRC_LOADEDMODULE_H
#define FMHA_PYTHON_SRC_LOADEDMODULE_H

#include "fmha-c/Runtime.h"
#include "fmha/Runtime/Driver/Calls.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <string>
#include <vector>

namespace fmha::python {

/// Returns the driver that libfmha_rt.so uses: the same choice opens the same
/// library.
const runtime::driver::Calls &deviceCalls();

/// Gives a thread that has no current context the primary one of the device:
/// calls come from any thread.
void enterDeviceContext(int device);

/// The tensor of an array of any library by DLPack, in its memory, which lives
/// as long as this object. The array is ready on the stream that the kernel is
/// launched on: its library is asked to wait for nothing.
class BorrowedTensor {
public:
  BorrowedTensor() = default;
  /// Throws what the array's __dlpack__ raises, and TypeError where there is
  /// none.
  explicit BorrowedTensor(nanobind::handle array);

  const DLTensor &operator*() const { return tensor; }
  const DLTensor *operator->() const { return &tensor; }

private:
  /// The capsule, or the array where its library shows tensors directly.
  nanobind::object owner;
  DLTensor tensor = {};
};

/// Writes the extents and the strides, which DLPack may leave out.
void copyShape(const DLTensor &tensor, int64_t *shape, int64_t *strides);

/// A borrowed tensor, with dimensions in an order of our own.
class DeviceArray {
public:
  explicit DeviceArray(nanobind::handle array);
  DeviceArray permuted(const std::vector<size_t> &order) const;

  nanobind::tuple extents() const;
  int device() const { return owner->device.device_id; }
  std::string dtype() const;
  /// Valid as long as this object.
  DLTensor tensor() const;

private:
  BorrowedTensor owner;
  std::vector<int64_t> shape, strides;
};

using Made = nanobind::ndarray<nanobind::array_api, nanobind::device::cuda>;

/// Makes an array in device memory, zero where `zero`. When the array dies, its
/// memory serves later arrays of the stream (driver::DeviceMemory).
Made deviceEmpty(const std::vector<size_t> &shape, const std::string &type,
                 int device, bool zero, uint64_t stream);

/// A loaded kernel, with a workspace for each stream that it is launched on. A
/// kernel that a graph has, and its workspace, stay as long as the process.
class LoadedModule {
public:
  LoadedModule(const std::string &ptx, const std::string &manifest,
               const std::string &target, int device);
  LoadedModule(const LoadedModule &) = delete;
  ~LoadedModule();

  std::vector<std::string> names() const;
  /// Returns the bytes of workspace of a launch on these tensors.
  uint64_t workspaceBytes(const std::vector<const DLTensor *> &tensors) const;
  /// Launches on tensors of that many, in the module's order of names.
  void launch(const DLTensor *const *tensors, size_t count, uint64_t bytes,
              uint64_t stream);

private:
  struct Workspace {
    runtime::driver::DevicePointer address = 0;
    uint64_t bytes = 0;
    /// Whether a captured launch uses it.
    bool inGraph = false;
  };
  void *reserve(uint64_t bytes, uint64_t stream, bool isCaptured);

  FmhaModule module = nullptr;
  std::string target;
  std::map<uint64_t, Workspace> workspaces;
  /// Whether a launch has been captured: the module then stays loaded.
  bool inGraph = false;
};

/// LaunchPlans of Python.
void bindLaunchPlans(nanobind::module_ &module);

} // namespace fmha::python

#endif // FMHA_PYTHON_SRC_LOADEDMODULE_H
