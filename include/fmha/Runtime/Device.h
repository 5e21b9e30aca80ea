//===- Device.h - A device, behind the driver API ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device: the simulator or a GPU, chosen by the library that is opened. All
// code above this line is the same for both.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DEVICE_H
#define FMHA_RUNTIME_DEVICE_H

#include "fmha/Runtime/DriverApi.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fmha::runtime {

enum class DeviceKind { Simulator, Cuda };

struct DeviceOptions {
  DeviceKind kind = DeviceKind::Simulator;
  /// What the kernels are compiled for, "sm_100a". The device must run it.
  std::string target = "sm_100a";
  /// The library to open. Empty: for the simulator FMHA_PTXSIM, then
  /// libptxsim.so beside this program and in ../lib, then the loader's path;
  /// for CUDA libcuda.so.1.
  std::string library;
};

/// Whether code for `target` runs on compute capability major.minor (PTX
/// manual,
/// ".target"): 'a' this one alone, 'f' its family, no suffix any later one.
bool targetRunsOn(llvm::StringRef target, int major, int minor);

/// Device memory; freed with the object.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(const driver::Api *api, driver::DevicePointer address,
               size_t bytes)
      : api(api), pointer(address), bytes(bytes) {}
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory();

  driver::DevicePointer address() const { return pointer; }
  size_t size() const { return bytes; }

private:
  void swap(DeviceMemory &other) {
    std::swap(api, other.api);
    std::swap(pointer, other.pointer);
    std::swap(bytes, other.bytes);
  }
  const driver::Api *api = nullptr;
  driver::DevicePointer pointer = 0;
  size_t bytes = 0;
};

/// A loaded module; unloaded with the object.
class LoadedKernel {
public:
  LoadedKernel(const driver::Api &api, driver::Module module)
      : api(&api), module(module) {}
  LoadedKernel(LoadedKernel &&other) noexcept
      : api(other.api), module(std::exchange(other.module, nullptr)),
        function(other.function) {}
  LoadedKernel &operator=(LoadedKernel &&) = delete;
  ~LoadedKernel();
  driver::Function get() const { return function; }

private:
  friend class Device;
  const driver::Api *api;
  driver::Module module;
  driver::Function function = nullptr;
};

class Device {
public:
  /// Errors: library or symbol missing, no device, or a device that cannot run
  /// `options.target` (says which GPU was found and the way out).
  static llvm::Expected<std::unique_ptr<Device>>
  open(const DeviceOptions &options);
  ~Device();

  const driver::Api &api() const { return calls; }
  bool isSimulator() const { return calls.isSimulator(); }
  const std::string &name() const { return deviceName; }

  /// How many the device has, if it says so.
  std::optional<uint32_t> multiprocessors() const;

  /// Simulator options of include/fmha/PTX/Driver/PtxSim.h for the launches
  /// that follow; an error on a real GPU, which has none.
  llvm::Error
  setOptions(const std::vector<std::pair<std::string, std::string>> &options);

  llvm::Expected<DeviceMemory> allocate(size_t bytes);
  /// Assembles `ptx` for the device and finds the entry `kernel`, allowing it
  /// `smemBytes` of dynamic shared memory.
  /// Kernels stay loaded, so that launches of one PTX load it once. Safe to
  /// call from several threads.
  llvm::Expected<std::shared_ptr<const LoadedKernel>>
  loadKernel(const std::string &ptx, const std::string &kernel,
             uint32_t smemBytes);

private:
  /// How many kernels stay loaded.
  static constexpr size_t maxKernels = 32;

  llvm::Expected<std::shared_ptr<const LoadedKernel>>
  assemble(const std::string &ptx, const std::string &kernel,
           uint32_t smemBytes);
  explicit Device(driver::Api calls) : calls(std::move(calls)) {}
  llvm::Error start(const DeviceOptions &options);
  llvm::Error checkTarget(const DeviceOptions &options);

  driver::Api calls;
  driver::DeviceId id = 0;
  bool retained = false;
  std::string deviceName;
  std::mutex kernelsMutex;
  /// By PTX and entry.
  std::map<std::pair<std::string, std::string>,
           std::shared_ptr<const LoadedKernel>>
      kernels;
};

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_DEVICE_H
