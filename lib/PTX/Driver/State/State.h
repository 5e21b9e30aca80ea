//===- State.h - State of the driver API ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One simulated device per process, guarded by one mutex. Every exported
// function runs inside guarded(), which checks its preconditions, holds the
// mutex, and converts exceptions to result codes, so that no exception crosses
// the C interface.
//
// Everything is synchronous: a launch has finished when cuLaunchKernel returns.
// Its errors are deferred until the next call, as on a real device.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_STATE_STATE_H
#define FMHA_LIB_PTX_DRIVER_STATE_STATE_H

#include "Capture.h"
#include "DriverTypes.h"
#include "fmha/PTX/Host/Target.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct CUctx_st {
  unsigned flags = 0;
  uint64_t id = 0;
  bool primary = false;
};

struct CUfunc_st {
  CUmodule module = nullptr;
  const ptxsim::Module::Entry *entry = nullptr;
  /// The limit set by MAX_DYNAMIC_SHARED_SIZE_BYTES: initially 48 KiB minus
  /// static shared memory.
  uint32_t maxDynamicShared = 0;
  bool nonPortableCluster = false;
  int carveout = -1, clusterPolicy = 0;
};

struct CUmod_st {
  explicit CUmod_st(ptxsim::Module parsed) : module(std::move(parsed)) {}
  ptxsim::Module module;
  /// The PTX and its name in messages.
  std::string text, name;
  CUcontext context = nullptr;
  CUlibrary library = nullptr;
  std::map<std::string, std::unique_ptr<CUfunc_st>, std::less<>> functions;
};

struct CUlib_st {
  CUmodule module = nullptr;
};

struct CUstream_st {
  unsigned flags = 0;
  uint64_t id = 0;
  int priority = 0;
  CUcontext context = nullptr;
  /// The capture that records work submitted to this stream, if there is one.
  std::shared_ptr<ptxsim::driver::Capture> capture;
};

struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  /// The stream of the last record, and the number of launches before it.
  uint64_t stream = 0, launches = 0;
  /// Set if the last record was during a capture.
  std::optional<ptxsim::driver::CapturedMoment> captured;
  std::chrono::steady_clock::time_point when;
};

namespace ptxsim::driver {

/// Owns objects whose addresses are the host's handles.
template <typename T> class Registry {
public:
  T *add(std::unique_ptr<T> object) {
    T *handle = object.get();
    objects[handle] = std::move(object);
    return handle;
  }
  bool contains(const T *handle) const { return objects.count(handle) != 0; }
  bool erase(const T *handle) { return objects.erase(handle) != 0; }
  template <typename Predicate> void eraseIf(Predicate &&predicate) {
    std::erase_if(objects, [&](auto &item) { return predicate(*item.second); });
  }
  template <typename Visit> void forEach(Visit &&visit) const {
    for (const auto &[handle, object] : objects)
      visit(*object);
  }
  size_t size() const { return objects.size(); }

private:
  std::unordered_map<const T *, std::unique_ptr<T>> objects;
};

struct Settings {
  Options options;
  std::optional<TargetName> target;
  std::string reportFile;
  bool failOnFinding = true;
  /// Whether launches are recorded for the modeled time.
  bool time = false;
  /// Whether it is that of their SASS.
  bool sass = false;
  /// SMs of the GPU that the time is modeled for; 0: as many as the target has.
  unsigned timeSms = 0;
  /// The SM, or the group of SMs of a cluster, whose clusters are modeled.
  unsigned timeSm = 0;
  /// Whether the time is that of a launch whose data is in L2.
  bool isL2Warm = false;
  /// How often the time is modeled with drawn figures.
  unsigned timeDraws = 0;
  /// The file that gets the timeline of the first launch, if its time is
  /// modeled; empty: none.
  std::string timelineFile;
  bool messages = true;
};

/// All launches, for the JSON reports.
struct History {
  uint64_t launches = 0, warpInstructions = 0;
  double seconds = 0;
  Status worst = Status::Ok;
  bool anyError = false;
  uint64_t lastWarpInstructions = 0;
  nlohmann::ordered_json last; // null before the first launch
  nlohmann::ordered_json notOk = nlohmann::ordered_json::array();
};

struct State {
  bool initialized = false;
  Settings settings;
  /// Options set by ptxsimSetOption, in order.
  std::vector<std::pair<std::string, std::string>> chosen;
  std::unique_ptr<Device> device;
  Registry<CUctx_st> contexts;
  Registry<CUmod_st> modules;
  Registry<CUlib_st> libraries;
  Registry<CUstream_st> streams;
  Registry<CUevent_st> events;
  Registry<CUgraph_st> graphs;
  Registry<CUgraphExec_st> executables;
  /// Captures that have not ended.
  std::vector<std::shared_ptr<Capture>> captures;
  /// Live functions: the handle check of launches and attribute calls.
  std::unordered_map<CUfunction, CUmodule> functions;
  /// Module objects whose variables are in device memory outlive their unload,
  /// because their addresses may still be in use.
  std::vector<std::unique_ptr<Module>> retired;
  struct Allocation {
    CUcontext context;
    uint64_t bytes;
    bool managed = false;
  };
  std::map<uint64_t, Allocation> allocations;
  uint64_t allocatedBytes = 0;
  /// Host memory that kernels may use: allocated by cuMemHostAlloc, or
  /// registered by the host.
  struct HostRange {
    CUcontext context;
    uint64_t bytes;
    bool registered = false;
  };
  std::map<void *, HostRange> hostRanges;
  /// Limits set by cuCtxSetLimit, by CUlimit.
  std::map<int, size_t> limits;
  CUcontext primary = nullptr;
  unsigned primaryUses = 0, primaryFlags = 0;
  /// The error of a faulted launch; every later call returns it.
  CUresult sticky = CUDA_SUCCESS;
  /// The highest target loaded so far.
  TargetName highestLoaded{100, 'a'};
  bool anyLoaded = false;
  uint64_t nextId = 1;
  History history;

  TargetName target() const {
    return settings.target ? *settings.target : highestLoaded;
  }
  const DeviceFacts &facts() const { return factsOf(target().cc); }
};

/// Preconditions of a call: cuInit; also a current context; also no fault so
/// far; and also no capture that the call could break.
enum class Needs { Nothing, Init, Context, Healthy, Uncaptured };

/// Runs `body` under the mutex if `needs` is met. Exceptions become results.
CUresult guarded(Needs needs, const std::function<CUresult(State &)> &body);

/// Returns the context on top of this thread's stack, or null.
CUcontext currentContext(State &state);
/// Returns this thread's stack of contexts.
std::vector<CUcontext> &contextStack();

/// Stores the reason of a failed call for ptxsimLastError, and returns
/// `result`.
CUresult fail(CUresult result, std::string why);
/// Returns the text that fail() stored in this thread.
std::string &lastError();
/// Same as fail(), and prints it on stderr unless messages are off.
CUresult failWithMessage(State &state, CUresult result, std::string why);

/// Sets one option by the names of PtxSim.h. Returns the error, or nullopt.
std::optional<std::string> setSetting(Settings &settings,
                                      const std::string &name,
                                      const std::string &value);
/// Reads the PTXSIM_ variables.
std::optional<std::string> readEnvironment(Settings &settings);

/// Adds a launch to the history and writes the report file, if requested.
void record(State &state, nlohmann::ordered_json report, Status status,
            bool rejected);
/// Returns the object of ptxsimReport().
nlohmann::ordered_json wholeReport(const State &state);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_STATE_STATE_H
