//===- Module.cpp - Modules and libraries ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Image.h"
#include "State/State.h"
#include "fmha/PTX/Host/Report.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace ptxsim::driver;
using ptxsim::Error;
using ptxsim::Module;
using ptxsim::TargetName;

namespace {

constexpr uint32_t staticAndDynamicDefault = 48 * 1024;

/// The buffer for the error text of a JIT call.
class JitLog {
public:
  JitLog(unsigned count, const int *options, void **values) : values(values) {
    for (unsigned i = 0; options && values && i < count; ++i) {
      if (options[i] == JitErrorLogBuffer)
        buffer = static_cast<char *>(values[i]);
      if (options[i] == JitErrorLogBufferSizeBytes)
        size = int(i);
      if (options[i] == JitInfoLogBufferSizeBytes)
        infoSize = int(i);
    }
  }

  /// Returns true if the host receives the reason of an error, and so reports
  /// it.
  bool isAskedFor() const { return buffer && size >= 0; }

  /// Fills the buffer and sets the size options to the bytes written.
  void write(const std::string &text) {
    if (infoSize >= 0)
      values[infoSize] = nullptr;
    if (!buffer || size < 0)
      return;
    // The option is an unsigned int stored in the pointer itself.
    size_t room = uint32_t(reinterpret_cast<uintptr_t>(values[size]));
    size_t used = room ? std::min(text.size(), room - 1) : 0;
    if (room) {
      std::memcpy(buffer, text.data(), used);
      buffer[used] = 0;
    }
    values[size] = reinterpret_cast<void *>(used);
  }

private:
  void **values;
  char *buffer = nullptr;
  int size = -1, infoSize = -1;
};

CUresult reject(State &state, JitLog &log, CUresult result, std::string why) {
  log.write(why);
  return log.isAskedFor() ? fail(result, std::move(why))
                          : failWithMessage(state, result, std::move(why));
}

/// Returns the reason why the module cannot run on the reported device, or
/// nullopt.
std::optional<std::string> mismatch(State &state, const Module &module) {
  std::optional<TargetName> target = TargetName::parse(module.target());
  if (!target)
    return "unknown .target " + module.target();
  if (!state.settings.target)
    return std::nullopt;
  if (target->runsOn(state.settings.target->cc))
    return std::nullopt;
  return ".target " + target->text() + " does not run on the reported device " +
         state.settings.target->text() +
         ": set PTXSIM_TARGET to a device that it runs on, or leave it unset";
}

void noteTarget(State &state, const Module &module) {
  TargetName target = *TargetName::parse(module.target());
  bool higher = !state.anyLoaded || target.cc > state.highestLoaded.cc;
  bool narrower = target.cc == state.highestLoaded.cc && target.suffix;
  if (higher || narrower)
    state.highestLoaded = target;
  state.anyLoaded = true;
}

/// Parses `text` into `out`, which then owns the object of the handle.
CUresult parse(State &state, const std::string &text, const std::string &name,
               JitLog &log, CUmodule &out) {
  try {
    Module module = Module::parse(text, name);
    if (auto wrong = mismatch(state, module))
      return reject(state, log, CUDA_ERROR_INVALID_PTX, name + ": " + *wrong);
    noteTarget(state, module);
    auto object = std::make_unique<CUmod_st>(std::move(module));
    object->text = text;
    object->name = name;
    out = state.modules.add(std::move(object));
    log.write("");
    return CUDA_SUCCESS;
  } catch (const Error &error) {
    CUresult result = error.kind == Error::Kind::Unsupported
                          ? CUDA_ERROR_NOT_SUPPORTED
                          : CUDA_ERROR_INVALID_PTX;
    return reject(state, log, result, describe(error, name, text));
  }
}

CUresult loadImage(State &state, const void *bytes, JitLog log, CUmodule &out) {
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  Image image = readImage(bytes);
  if (image.result != CUDA_SUCCESS)
    return reject(state, log, image.result, image.why);
  std::string name = "module" + std::to_string(state.nextId++) + ".ptx";
  return parse(state, image.text, name, log, out);
}

CUresult loadFile(State &state, const char *path, JitLog log, CUmodule &out) {
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf()))
    return fail(CUDA_ERROR_FILE_NOT_FOUND,
                std::string("cannot read '") + path + "'");
  // Zeros after the end, so that a truncated file is never read past its end.
  std::string contents = bytes.str();
  contents.append(64, '\0');
  Image image = readImage(contents.data());
  if (image.result != CUDA_SUCCESS)
    return reject(state, log, image.result,
                  std::string(path) + ": " + image.why);
  return parse(state, image.text, path, log, out);
}

using Loader = std::function<CUresult(State &, CUmodule &)>;

CUresult loadModule(CUmodule *out, const Loader &load) {
  return guarded(Needs::Uncaptured, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    CUmodule module = nullptr;
    if (CUresult result = load(state, module))
      return result;
    module->context = currentContext(state);
    *out = module;
    return CUDA_SUCCESS;
  });
}

CUresult loadLibrary(CUlibrary *out, const Loader &load) {
  return guarded(Needs::Init, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    CUmodule module = nullptr;
    if (CUresult result = load(state, module))
      return result;
    auto library = std::make_unique<CUlib_st>();
    library->module = module;
    *out = module->library = state.libraries.add(std::move(library));
    return CUDA_SUCCESS;
  });
}

void unload(State &state, CUmodule module) {
  std::erase_if(state.functions,
                [&](const auto &item) { return item.second == module; });
  if (!module->module.globals().empty())
    state.retired.push_back(
        std::make_unique<Module>(std::move(module->module)));
  state.modules.erase(module);
}

CUfunction functionOf(State &state, CUmodule module, const char *name) {
  auto found = module->functions.find(name);
  if (found != module->functions.end())
    return found->second.get();
  const Module::Entry *entry = module->module.findEntry(name);
  if (!entry)
    return nullptr;
  auto function = std::make_unique<CUfunc_st>();
  function->module = module;
  function->entry = entry;
  uint32_t used = std::min(entry->staticSharedBytes, staticAndDynamicDefault);
  function->maxDynamicShared = staticAndDynamicDefault - used;
  CUfunction handle = function.get();
  module->functions[name] = std::move(function);
  state.functions[handle] = module;
  return handle;
}

CUresult getFunction(State &state, CUfunction *out, CUmodule module,
                     const char *name) {
  if (!out || !name)
    return CUDA_ERROR_INVALID_VALUE;
  CUfunction function = functionOf(state, module, name);
  if (!function)
    return fail(CUDA_ERROR_NOT_FOUND,
                std::string("the module has no entry '") + name + "'");
  *out = function;
  return CUDA_SUCCESS;
}

CUresult getGlobal(State &state, CUdeviceptr *address, size_t *bytes,
                   CUmodule module, const char *name) {
  if (!name || !address)
    return CUDA_ERROR_INVALID_VALUE;
  for (const Module::Global &global : module->module.globals()) {
    if (global.name != name)
      continue;
    *address = state.device->addressOf(module->module, name);
    if (bytes)
      *bytes = global.size;
    return CUDA_SUCCESS;
  }
  return fail(CUDA_ERROR_NOT_FOUND,
              std::string("the module has no variable '") + name + "'");
}

CUresult withModule(CUmodule module,
                    const std::function<CUresult(State &)> &body) {
  return guarded(Needs::Context, [&](State &state) {
    if (!state.modules.contains(module))
      return CUDA_ERROR_INVALID_HANDLE;
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    return body(state);
  });
}

CUresult withLibrary(CUlibrary library,
                     const std::function<CUresult(State &)> &body) {
  return guarded(Needs::Init, [&](State &state) {
    return state.libraries.contains(library) ? body(state)
                                             : CUDA_ERROR_INVALID_HANDLE;
  });
}

} // namespace

DRIVER_API cuModuleLoad(CUmodule *out, const char *path) {
  return loadModule(out, [&](State &state, CUmodule &module) {
    return loadFile(state, path, JitLog(0, nullptr, nullptr), module);
  });
}

DRIVER_API cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count,
                              int *options, void **values) {
  return loadModule(out, [&](State &state, CUmodule &module) {
    return loadImage(state, image, JitLog(count, options, values), module);
  });
}

DRIVER_API cuModuleLoadData(CUmodule *out, const void *image) {
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}
DRIVER_API cuModuleLoadFatBinary(CUmodule *out, const void *image) {
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

DRIVER_API cuModuleUnload(CUmodule module) {
  return withModule(module, [&](State &state) {
    unload(state, module);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuModuleGetFunction(CUfunction *out, CUmodule module,
                               const char *name) {
  return withModule(module, [&](State &state) {
    return getFunction(state, out, module, name);
  });
}

DRIVER_API cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  return withModule(module, [&](State &) {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = unsigned(module->module.entries().size());
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuModuleEnumerateFunctions(CUfunction *out, unsigned count,
                                      CUmodule module) {
  return withModule(module, [&](State &state) {
    if (!out || !count)
      return CUDA_ERROR_INVALID_VALUE;
    const auto &entries = module->module.entries();
    for (size_t i = 0; i < std::min<size_t>(count, entries.size()); ++i)
      out[i] = functionOf(state, module, entries[i].name.c_str());
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes,
                                CUmodule module, const char *name) {
  return withModule(module, [&](State &state) {
    return getGlobal(state, address, bytes, module, name);
  });
}

/// 1 = CU_MODULE_EAGER_LOADING.
DRIVER_API cuModuleGetLoadingMode(int *mode) {
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = 1;
  return CUDA_SUCCESS;
}

DRIVER_API cuLibraryLoadData(CUlibrary *out, const void *image, int *options,
                             void **values, unsigned count, int *, void **,
                             unsigned) {
  return loadLibrary(out, [&](State &state, CUmodule &module) {
    return loadImage(state, image, JitLog(count, options, values), module);
  });
}

DRIVER_API cuLibraryLoadFromFile(CUlibrary *out, const char *path, int *options,
                                 void **values, unsigned count, int *, void **,
                                 unsigned) {
  return loadLibrary(out, [&](State &state, CUmodule &module) {
    return loadFile(state, path, JitLog(count, options, values), module);
  });
}

DRIVER_API cuLibraryUnload(CUlibrary library) {
  return withLibrary(library, [&](State &state) {
    unload(state, library->module);
    state.libraries.erase(library);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuLibraryGetKernel(CUkernel *out, CUlibrary library,
                              const char *name) {
  return withLibrary(library, [&](State &state) {
    return getFunction(state, out, library->module, name);
  });
}

DRIVER_API cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
  return withLibrary(library, [&](State &) {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = unsigned(library->module->module.entries().size());
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuLibraryGetModule(CUmodule *out, CUlibrary library) {
  return withLibrary(library, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = library->module;
    return state.sticky;
  });
}

DRIVER_API cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes,
                              CUlibrary library, const char *name) {
  return withLibrary(library, [&](State &state) {
    if (state.sticky != CUDA_SUCCESS)
      return state.sticky;
    return getGlobal(state, address, bytes, library->module, name);
  });
}
