//===- Modules.cpp - Modules, loaded on first use -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module's handle is its image, which is loaded when one of its functions is
// first requested, once per context.
//
//===----------------------------------------------------------------------===//

#include "Modules.h"
#include "fmha/Kernel/Programmatic.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

namespace {

constexpr int32_t defaultSharedBytes = 48 * 1024;
constexpr size_t logBytes = 4096;

struct Loaded {
  driver::Module module = nullptr;
  std::map<std::string, driver::Function, std::less<>> functions;
};

struct LazyModule {
  const void *image = nullptr;
  /// For the driver's compiler; none for images that need no compilation.
  std::optional<int32_t> optLevel;
  std::mutex mutex;
  std::map<ContextKey, Loaded> loaded;
};

/// The dynamic shared memory currently allowed for each function, and the
/// functions whose launches may be programmatic.
struct Functions {
  std::mutex mutex;
  std::unordered_map<driver::Function, int32_t> sharedBytes;
  std::unordered_set<driver::Function> programmatic;
};
Functions &functions() {
  static Functions *const all = new Functions;
  return *all;
}

void noteProgrammatic(driver::Module module, const std::string &name,
                      driver::Function function) {
  driver::DevicePointer address = 0;
  size_t bytes = 0;
  std::string variable = fmha::programmaticPrefix + name;
  if (calls().moduleGetGlobal(&address, &bytes, module, variable.c_str()) !=
      driver::success)
    return;
  std::lock_guard lock(functions().mutex);
  functions().programmatic.insert(function);
}

driver::Module load(const LazyModule &lazy, const char *kernel) {
  const driver::Calls &calls = mgpu::calls();
  std::vector<char> log(logBytes, 0);
  int options[] = {driver::jitErrorLogBuffer, driver::jitErrorLogBufferBytes,
                   driver::jitOptimizationLevel};
  void *values[] = {
      log.data(), reinterpret_cast<void *>(logBytes - 1),
      reinterpret_cast<void *>(intptr_t(lazy.optLevel.value_or(0)))};
  driver::Module module = nullptr;
  driver::Result result = calls.moduleLoad(
      &module, lazy.image, lazy.optLevel ? 3 : 2, options, values);
  std::string details =
      "loading the module of kernel '" + std::string(kernel) + "'";
  check("cuModuleLoadDataEx", result, details, log.data());
  return module;
}

/// Unloads the modules of one context. A destroyed context or closed driver has
/// already unloaded them.
void unload(const ContextKey &key, const Loaded &loaded) {
  const driver::Calls &calls = mgpu::calls();
  {
    std::lock_guard lock(functions().mutex);
    for (const auto &[name, function] : loaded.functions) {
      functions().sharedBytes.erase(function);
      functions().programmatic.erase(function);
    }
  }
  unsigned long long id = 0;
  calls.contextGetId(key.context, &id);
  if (id != key.id || calls.pushContext(key.context) != driver::success)
    return;
  driver::Result result = calls.moduleUnload(loaded.module);
  calls.popContext(nullptr);
  if (result != driver::errorDeinitialized &&
      result != driver::errorContextIsDestroyed &&
      result != driver::errorInvalidContext)
    check("cuModuleUnload", result);
}

void *makeModule(void *image, std::optional<int32_t> optLevel) {
  if (!image)
    fail("expected a module's image, got a null pointer");
  auto lazy = std::make_unique<LazyModule>();
  lazy->image = image;
  lazy->optLevel = optLevel;
  return lazy.release();
}

} // namespace

void mgpu::allowSharedMemory(driver::Function function, int32_t bytes) {
  if (bytes <= 0)
    return;
  const driver::Calls &calls = mgpu::calls();
  std::lock_guard lock(functions().mutex);
  auto [limit, isNew] = functions().sharedBytes.try_emplace(function, 0);
  if (isNew) {
    int fixed = 0;
    check("cuFuncGetAttribute",
          calls.functionGetAttribute(&fixed, driver::functionSharedSizeBytes,
                                     function));
    limit->second = defaultSharedBytes - fixed;
  }
  if (bytes <= limit->second)
    return;
  check("cuFuncSetAttribute",
        calls.functionSetAttribute(function,
                                   driver::functionMaxDynamicSmemBytes, bytes),
        "allowing " + std::to_string(bytes) +
            " bytes of dynamic shared memory; a block of this GPU may not have "
            "as many: compile the kernel for smaller tiles");
  limit->second = bytes;
}

bool mgpu::isProgrammatic(driver::Function function) {
  std::lock_guard lock(functions().mutex);
  return functions().programmatic.contains(function);
}

void *mgpuModuleLoad(void *image, size_t) {
  return makeModule(image, std::nullopt);
}

void *mgpuModuleLoadJIT(void *image, int32_t optLevel) {
  return makeModule(image, std::clamp(optLevel, 0, 4));
}

void mgpuModuleUnload(void *module) {
  std::unique_ptr<LazyModule> lazy(static_cast<LazyModule *>(module));
  if (!lazy)
    return;
  for (const auto &[key, loaded] : lazy->loaded)
    unload(key, loaded);
}

void *mgpuModuleGetFunction(void *module, const char *name) {
  auto *lazy = static_cast<LazyModule *>(module);
  if (!lazy || !name)
    fail("mgpuModuleGetFunction: expected a module and a name, got a null "
         "pointer");
  ContextKey key = currentContext();
  std::lock_guard lock(lazy->mutex);
  Loaded &loaded = lazy->loaded[key];
  if (!loaded.module)
    loaded.module = load(*lazy, name);
  auto known = loaded.functions.find(name);
  if (known != loaded.functions.end())
    return known->second;
  driver::Function function = nullptr;
  check("cuModuleGetFunction",
        calls().moduleGetFunction(&function, loaded.module, name),
        "looking for kernel '" + std::string(name) + "'");
  loaded.functions.emplace(name, function);
  noteProgrammatic(loaded.module, name, function);
  return function;
}
