//===- LaunchProbe.cpp - One launch, on two drivers -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchProbe.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fmha::benchmark {

namespace driver = runtime::driver;

void die(const std::string &why) {
  std::fprintf(stderr, "host-overhead: %s\n", why.c_str());
  std::exit(2);
}

static std::string read(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    die("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static driver::Calls openStub(std::string path) {
  if (path.empty())
    path = driver::findNearLibrary("libFmhaStubDriver.so");
  if (!std::filesystem::exists(path))
    path = FMHA_STUB_DRIVER;
  std::string why;
  std::optional<driver::Calls> calls = driver::open(path, why);
  if (!calls)
    die(why);
  return *calls;
}

LaunchProbe::LaunchProbe(const std::string &stub,
                         const std::vector<std::string> &files)
    : stubCalls(openStub(stub)) {
  if (files.empty()) {
    setenv("FMHA_DRIVER", stubCalls.library.c_str(), 1);
    name = "a sample";
    load("stub", read(FMHA_SAMPLE_MANIFEST));
  } else {
    choose(files);
    real = *active;
    driver::Stream made = nullptr;
    if (driver::Result result =
            active->streamCreate(&made, driver::streamNonBlocking))
      die("no stream: " + active->describe(result));
    stream = reinterpret_cast<CUstream>(made);
  }
  addTensors();
  launch();
  if (hasDriver())
    record();
  // The stub asks for a context of its own.
  stubCalls.setContext(module->context);
}

void LaunchProbe::load(const std::string &image, const std::string &manifest) {
  if (fmhaModuleLoad(image.data(), image.size(), manifest.c_str(), &module))
    die(fmhaLastError());
  // On the heap, and not modified elsewhere.
  active = const_cast<driver::Calls *>(module->driver);
}

void LaunchProbe::choose(const std::vector<std::string> &files) {
  std::string why;
  const driver::Calls *calls = capi::openDriver(why);
  if (!calls)
    die(why);
  int major = 0, minor = 0;
  calls->deviceGetAttribute(&major, driver::attributeComputeCapabilityMajor, 0);
  calls->deviceGetAttribute(&minor, driver::attributeComputeCapabilityMinor, 0);
  std::string wanted =
      "\"sm_" + std::to_string(major) + std::to_string(minor) + "a\"";
  for (size_t n = 0; n < files.size(); n += 2) {
    std::string manifest = read(files[n + 1]);
    if (manifest.find(wanted) == std::string::npos)
      continue;
    name = std::filesystem::path(files[n]).filename();
    return load(read(files[n]), manifest);
  }
  die("expected a kernel for " + wanted + ", the device of " + calls->library +
      ", got none; compile one with fmha-compile --target");
}

std::string LaunchProbe::device() const {
  char text[256] = "";
  if (!hasDriver() || real.deviceGetName(text, sizeof(text), 0))
    return "none";
  return text;
}

/// Tensors of one decode-like problem for the kernels that q, k, v, o and lse
/// are enough for.
void LaunchProbe::addTensors() {
  const launch::Manifest &manifest = *module->attention;
  int64_t dim = manifest.headDim, dimV = manifest.headDimV;
  const std::vector<int64_t> shapes[] = {{4, 16, 32, dim},
                                         {4, 512, 8, dim},
                                         {4, 512, 8, dimV},
                                         {4, 16, 32, dimV},
                                         {4, 32, 16}};
  if (module->roles.size() > std::size(shapes) || module->combine)
    die("expected a kernel of q, k, v, o and lse without splits, got another");
  for (size_t n = 0; n < module->roles.size(); ++n) {
    Tensor tensor{shapes[n], {}};
    tensor.dl.dtype = module->roles[n].dtype;
    tensor.dl.device = {kDLCUDA, module->device};
    tensor.dl.ndim = int32_t(tensor.shape.size());
    driver::DevicePointer address = (n + 1) << 32;
    constexpr size_t bytes = 32 << 20;
    if (hasDriver() &&
        (real.memAlloc(&address, bytes) ||
         real.set8Async(address, 0, bytes, nullptr) || real.synchronize()))
      die("the driver has no memory");
    tensor.dl.data = reinterpret_cast<void *>(address);
    tensors.push_back(std::move(tensor));
  }
  for (Tensor &tensor : tensors) {
    tensor.dl.shape = tensor.shape.data();
    pointers.push_back(&tensor.dl);
  }
}

void LaunchProbe::useStub() { *active = stubCalls; }

void LaunchProbe::useDriver() { *active = real; }

void LaunchProbe::launchAt(uint64_t offset) {
  // What the module keeps of a launch is of the driver that was active then: on
  // the stub the same tensors stand 256 bytes further.
  bool isStub = active->launchKernel == stubCalls.launchKernel;
  for (Tensor &tensor : tensors)
    tensor.dl.byte_offset = offset + isStub * 256;
  if (fmhaLaunch(module, pointers.data(), pointers.size(), nullptr, stream))
    die(fmhaLastError());
}

void LaunchProbe::launch() { launchAt(0); }

void LaunchProbe::launchElsewhere(int n) {
  launchAt(uint64_t(n % 25000 + 2) * 512);
}

void LaunchProbe::keep(const driver::LaunchConfig &config,
                       driver::Function function, void **places) {
  const std::vector<launch::Parameter> &parameters =
      module->first.launch->parameters;
  recorded.config = config;
  recorded.attributes.assign(config.attributes,
                             config.attributes + config.attributeCount);
  recorded.config.attributes =
      config.attributeCount ? recorded.attributes.data() : nullptr;
  recorded.function = function;
  recorded.arguments.resize(parameters.size());
  for (size_t n = 0; n < parameters.size(); ++n) {
    bool isMap = parameters[n].kind == launch::ParameterKind::TensorMap;
    std::memcpy(&recorded.arguments[n], places[n],
                isMap ? sizeof(driver::TensorMap) : sizeof(uint64_t));
    recorded.places.push_back(&recorded.arguments[n]);
  }
}

void LaunchProbe::record() {
  static LaunchProbe *recorder;
  recorder = this;
  active->launchKernel = [](const driver::LaunchConfig *config,
                            driver::Function function, void **places,
                            void **extra) {
    recorder->keep(*config, function, places);
    return recorder->real.launchKernel(config, function, places, extra);
  };
  launch();
  useDriver();
}

void LaunchProbe::launchBare() {
  if (driver::Result result = real.launchKernel(
          &recorded.config, recorded.function, recorded.places.data(), nullptr))
    die("launching alone failed: " + real.describe(result));
}

} // namespace fmha::benchmark
