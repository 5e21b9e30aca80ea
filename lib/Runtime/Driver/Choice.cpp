//===- Choice.cpp - Chooses the driver library ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/Calls.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace fmha::runtime::driver {
namespace {

namespace fs = std::filesystem;

/// Returns the folders of the shared library that this code is linked into, if
/// it is one, and of the program. The loader knows a program only by the name
/// it was called with.
std::vector<fs::path> ownFolders() {
  std::vector<fs::path> folders;
  std::error_code error;
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void *>(&findNearLibrary), &info) &&
      info.dli_fname && fs::path(info.dli_fname).is_absolute()) {
    fs::path own = fs::canonical(info.dli_fname, error);
    if (!error)
      folders.push_back(own.parent_path());
  }
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error)
    folders.push_back(program.parent_path());
  return folders;
}

/// Returns the reason why `calls` has no device to run on, or nullopt if it has
/// one.
std::optional<std::string> whyNoDevice(const Calls &calls) {
  if (Result result = calls.init(0))
    return "it fails with " + calls.describe(result);
  int count = 0;
  if (Result result = calls.deviceGetCount(&count))
    return "it fails with " + calls.describe(result);
  if (count == 0)
    return "it finds no GPU";
  return std::nullopt;
}

} // namespace

std::string findNearLibrary(const std::string &name) {
  std::error_code error;
  for (const fs::path &folder : ownFolders())
    for (const char *place : {"", "../lib", "lib"}) {
      fs::path candidate = folder / place / name;
      if (fs::exists(candidate, error))
        return candidate.lexically_normal().string();
    }
  return name;
}

std::optional<Calls> openDefault(std::string &why) {
  if (const char *named = std::getenv("FMHA_DRIVER"); named && *named) {
    std::string library = named;
    if (library.find('/') == std::string::npos)
      library = findNearLibrary(library);
    std::optional<Calls> calls = open(library, why);
    if (!calls)
      why += "; FMHA_DRIVER names this library: set it to libcuda.so.1 or to "
             "libptxsim.so";
    return calls;
  }
  std::string whyNoGpu;
  if (std::optional<Calls> gpu = open("libcuda.so.1", whyNoGpu)) {
    std::optional<std::string> reason = whyNoDevice(*gpu);
    if (!reason)
      return gpu;
    whyNoGpu = "'libcuda.so.1' is not used: " + *reason;
  }
  std::optional<Calls> simulator = open(findNearLibrary("libptxsim.so"), why);
  if (!simulator)
    why = whyNoGpu + "; " + why +
          "; install NVIDIA's driver, or name a driver library with "
          "FMHA_DRIVER";
  return simulator;
}

} // namespace fmha::runtime::driver
