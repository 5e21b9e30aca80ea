//===- Device.h - A device with the driver API ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device: the simulator or a GPU, depending on the driver library that is
// opened. All code that uses a Device is the same for both.
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
  /// The target of the kernels, for example "sm_100a". The device must support
  /// it.
  std::string target = "sm_100a";
  /// The library to open. If empty, the simulator is the library that
  /// FMHA_PTXSIM names, or libptxsim.so next to this program, in ../lib or in
  /// the loader's path, in this order; for CUDA it is libcuda.so.1.
  std::string library;
};

/// Returns whether code for `target` runs on compute capability major.minor
/// (PTX manual, ".target"). A target with suffix 'a' runs only on its own
/// capability, with 'f' on its family, without a suffix on any later one.
bool targetRunsOn(llvm::StringRef target, int major, int minor);

/// Device memory, which the destructor frees.
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

/// A kernel in a loaded module, which the destructor unloads.
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
  /// Opens the driver library and its device. Fails if the library or a symbol
  /// is missing, if there is no device, or if the device cannot run
  /// `options.target`; the message names the GPU that was found and a remedy.
  static llvm::Expected<std::unique_ptr<Device>>
  open(const DeviceOptions &options);
  ~Device();

  const driver::Api &api() const { return calls; }
  bool isSimulator() const { return calls.isSimulator(); }
  const std::string &name() const { return deviceName; }

  /// Returns the number of SMs, if the driver reports it.
  std::optional<uint32_t> multiprocessors() const;

  /// Sets options of the simulator (include/fmha/PTX/Driver/PtxSim.h) for the
  /// launches that follow. Fails on a GPU, which has none.
  llvm::Error
  setOptions(const std::vector<std::pair<std::string, std::string>> &options);

  /// Allocates `bytes` of device memory.
  llvm::Expected<DeviceMemory> allocate(size_t bytes);
  /// Loads `ptx` on the device and returns its entry `kernel`, with at most
  /// `smemBytes` of dynamic shared memory. Kernels stay loaded, so that several
  /// launches of the same PTX load it once. Thread-safe.
  llvm::Expected<std::shared_ptr<const LoadedKernel>>
  loadKernel(const std::string &ptx, const std::string &kernel,
             uint32_t smemBytes);

private:
  /// The maximum number of kernels that stay loaded.
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
  /// The loaded kernels by PTX and entry name.
  std::map<std::pair<std::string, std::string>,
           std::shared_ptr<const LoadedKernel>>
      kernels;
};

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_DEVICE_H
