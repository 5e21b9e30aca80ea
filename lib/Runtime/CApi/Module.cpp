//===- Module.cpp - A loaded kernel ---------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include <algorithm>
#include <memory>
#include <mutex>

namespace fmha::capi {
namespace {

namespace driver = runtime::driver;

/// CUDA_ERROR_ILLEGAL_ADDRESS to CUDA_ERROR_LAUNCH_FAILED: once a kernel has
/// failed, every call in its context returns its error.
constexpr driver::Result firstLaunchError = 700, lastLaunchError = 719;

/// Finds the current context, or makes the primary one of device 0 current.
FmhaStatus enterContext(FmhaModuleImpl &module) {
  const driver::Calls &calls = *module.driver;
  if (FmhaStatus status = check(calls, calls.getContext(&module.context),
                                "asking for the current context"))
    return status;
  if (module.context)
    return check(calls, calls.contextGetDevice(&module.device),
                 "asking for the device of the context");
  if (FmhaStatus status =
          check(calls, calls.deviceGet(&module.device, 0), "opening device 0"))
    return status;
  if (FmhaStatus status =
          check(calls, calls.retainContext(&module.context, module.device),
                "creating a context"))
    return status;
  return check(calls, calls.setContext(module.context), "entering the context");
}

/// Returns whether the text is the manifest of an fmha.merge: it has no mask,
/// which every attention has.
bool describesMerge(std::string_view text) {
  return text.find("\"mask\"") == std::string_view::npos &&
         text.find("\"dtype\"") == std::string_view::npos;
}

/// Returns whether the text is the manifest of an fmha.append, which says so.
bool describesAppend(std::string_view text) {
  return text.find("\"append\"") != std::string_view::npos;
}

FmhaStatus readManifest(const char *text, FmhaModuleImpl &module) {
  std::string problem;
  if (describesAppend(text))
    module.append = launch::parseAppendManifest(text, problem);
  else if (describesMerge(text))
    module.merge = launch::parseMergeManifest(text, problem);
  else
    module.attention = launch::parseManifest(text, problem);
  if (!module.merge && !module.attention && !module.append)
    return fail(FMHA_ERROR_MANIFEST,
                "manifest_json: " + problem +
                    "; pass what fmha-compile --emit=manifest prints");
  module.roles = module.attention ? rolesOf(*module.attention)
                 : module.merge   ? rolesOf(*module.merge)
                                  : rolesOf(*module.append);
  module.places.fill(-1);
  for (size_t n = 0; n < module.roles.size(); ++n)
    if (module.roles[n].form != Form::Capture)
      module.places[size_t(module.roles[n].tensor)] = int(n);
  return FMHA_SUCCESS;
}

bool has(const FmhaModuleImpl &module, launch::TensorName name) {
  return module.attention ? module.attention->has(name)
         : module.merge   ? module.merge->has(name)
                          : module.append->has(name);
}

/// Rejects kernels whose keys have five dimensions, which DLPack tensors of
/// other kernels do not have.
FmhaStatus checkKeys(const FmhaModuleImpl &module) {
  if (!module.attention || !module.attention->keyVectors)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_MANIFEST,
              "manifest_json: expected a kernel for keys [batch, length, "
              "heads, dim], got one for keys in vectors (key_vectors); launch "
              "it with fmha-run or as a part of a program");
}

/// Rejects parameters that no launch could set.
FmhaStatus checkParameters(const FmhaModuleImpl &module,
                           const launch::KernelLaunch &kernel) {
  using Kind = launch::Parameter::Kind;
  size_t maps = 0;
  for (const launch::Parameter &parameter : kernel.parameters) {
    maps += parameter.kind == Kind::TensorMap;
    bool isTensor = parameter.kind == Kind::TensorMap ||
                    (parameter.kind == Kind::Pointer && !parameter.capture);
    if (isTensor && !has(module, parameter.tensor))
      return fail(FMHA_ERROR_MANIFEST,
                  "manifest_json: parameter '" + parameter.name +
                      "': expected a manifest that has the tensor '" +
                      std::string(nameOf(parameter.tensor)) +
                      "', got one without");
  }
  if (kernel.parameters.size() <= mostParameters && maps <= mostMaps)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_MANIFEST,
              "manifest_json: expected at most " +
                  std::to_string(mostParameters) + " parameters and " +
                  std::to_string(mostMaps) + " tensor maps, got " +
                  std::to_string(kernel.parameters.size()) + " and " +
                  std::to_string(maps));
}

FmhaStatus prepare(FmhaModuleImpl &module, const launch::KernelLaunch &kernel,
                   Entry &entry) {
  if (FmhaStatus status = checkKeys(module))
    return status;
  if (FmhaStatus status = checkParameters(module, kernel))
    return status;
  entry.launch = &kernel;
  entry.layout = ArgumentLayout(kernel);
  for (const launch::Parameter &parameter : kernel.parameters)
    if (parameter.kind == launch::Parameter::Kind::TensorMap)
      entry.maps.emplace_back(parameter);
  const driver::Calls &calls = *module.driver;
  std::string what = "finding the entry '" + kernel.kernel + "'";
  if (FmhaStatus status =
          check(calls,
                calls.moduleGetFunction(&entry.function, module.module,
                                        kernel.kernel.c_str()),
                what.c_str()))
    return status;
  return check(calls,
               calls.functionSetAttribute(entry.function,
                                          driver::functionMaxDynamicSmemBytes,
                                          int(kernel.smemBytes)),
               "allowing the kernel its dynamic shared memory");
}

/// Returns the text after `key` in the comments at the beginning of `ptx`, or
/// an empty string.
std::string_view headingOf(std::string_view ptx, std::string_view key) {
  while (ptx.starts_with("//")) {
    std::string_view line = ptx.substr(0, ptx.find('\n'));
    if (line.starts_with(key))
      return line.substr(key.size());
    ptx.remove_prefix(std::min(line.size() + 1, ptx.size()));
  }
  return {};
}

/// Rejects PTX of a kernel other than the manifest's. Only text has an id.
FmhaStatus checkIds(const FmhaModuleImpl &module, std::string_view image) {
  std::string_view id = headingOf(image, "// id: ");
  const std::string &wanted = module.manifest().id;
  if (id.empty() || wanted.empty() || id == wanted)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_MANIFEST,
              "manifest_json: expected that of the kernel in image, whose "
              "heading has the id " +
                  std::string(id) + ", got one with the id " + wanted +
                  "; pass the manifest and the PTX of one compilation");
}

/// Returns the target of a PTX text, "sm_90a", or an empty string.
std::string_view targetOf(std::string_view image) {
  constexpr std::string_view directive = "\n.target ";
  size_t begin = image.find(directive);
  if (begin == image.npos)
    return {};
  std::string_view rest = image.substr(begin + directive.size());
  return rest.substr(0, rest.find_first_of(", \t\r\n/"));
}

bool isBinary(std::string_view image) {
  return image.starts_with("\x7f"
                           "ELF") ||
         image.starts_with("\x50\xed\x55\xba");
}

std::string capabilityOf(const FmhaModuleImpl &module) {
  const driver::Calls &calls = *module.driver;
  int major = 0, minor = 0;
  calls.deviceGetAttribute(&major, driver::attributeComputeCapabilityMajor,
                           module.device);
  calls.deviceGetAttribute(&minor, driver::attributeComputeCapabilityMinor,
                           module.device);
  return std::to_string(major) + "." + std::to_string(minor);
}

/// Returns the failure of loading `image`, for which the driver gives the
/// reason `why`.
FmhaStatus rejectImage(const FmhaModuleImpl &module, std::string_view image,
                       const std::string &why) {
  bool isText = !targetOf(image).empty();
  if (!isText && !isBinary(image))
    return fail(FMHA_ERROR_DRIVER,
                "image: expected PTX text or a cubin, got " +
                    std::to_string(image.size()) +
                    " bytes that are neither, which fail with " + why +
                    "; pass the contents of the file");
  std::string target(isText ? targetOf(image) : module.manifest().target);
  return fail(FMHA_ERROR_DRIVER,
              "image: expected one that device " +
                  std::to_string(module.device) + " of compute capability " +
                  capabilityOf(module) + " loads, got " +
                  (isText ? "PTX" : "a cubin") + " for " + target +
                  " that fails with " + why + "; compile for that device");
}

FmhaStatus loadImage(FmhaModuleImpl &module, const void *image, size_t bytes) {
  // PTX ends in a zero, which the caller's bytes may lack.
  std::string text(static_cast<const char *>(image), bytes);
  if (FmhaStatus status = checkIds(module, text))
    return status;
  const driver::Calls &calls = *module.driver;
  char log[4096] = "";
  int names[] = {driver::jitErrorLogBuffer, driver::jitErrorLogBufferBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  driver::Result result =
      calls.moduleLoad(&module.module, text.c_str(), 2, names, values);
  if (!result)
    return FMHA_SUCCESS;
  if (result >= firstLaunchError && result <= lastLaunchError)
    return check(calls, result,
                 "loading a kernel after another one in this context failed");
  log[sizeof(log) - 1] = 0;
  return rejectImage(module, text, calls.describe(result, log));
}

/// Sets the maximum number of CTAs. A static kernel is correct for any number,
/// and fastest with as many as the device runs at once.
void chooseMaxCtas(FmhaModuleImpl &module) {
  if (!module.attention || !module.attention->maxCtas)
    return;
  int count = 0;
  module.maxCtas = module.attention->maxCtas;
  if (!module.driver->deviceGetAttribute(
          &count, driver::attributeMultiprocessorCount, module.device) &&
      count > 0)
    module.maxCtas = uint32_t(count) * module.attention->ctasPerSm;
}

/// Finds the entries; a kernel with splits has two.
FmhaStatus prepareAll(FmhaModuleImpl &module) {
  if (FmhaStatus status = prepare(module, module.manifest(), module.first))
    return status;
  if (!module.attention || !module.attention->combine)
    return FMHA_SUCCESS;
  return prepare(module, *module.attention->combine, module.combine.emplace());
}

FmhaStatus load(FmhaModuleImpl &module, const void *image, size_t bytes,
                const char *manifest) {
  if (FmhaStatus status = readManifest(manifest, module))
    return status;
  std::string why;
  module.driver = openDriver(why);
  if (!module.driver)
    return fail(FMHA_ERROR_NO_DRIVER, why);
  if (FmhaStatus status = enterContext(module))
    return status;
  if (FmhaStatus status = loadImage(module, image, bytes))
    return status;
  if (FmhaStatus status = prepareAll(module))
    return status;
  chooseMaxCtas(module);
  if (size_t words = LaunchKey::wordsOf(module.roles);
      words <= LaunchKey::mostWords)
    module.plans.reserve(words, module.argumentBytes());
  return FMHA_SUCCESS;
}

} // namespace

const driver::Calls *openDriver(std::string &why) {
  static std::mutex turn;
  static const driver::Calls *opened = nullptr;
  std::lock_guard<std::mutex> lock(turn);
  if (opened)
    return opened;
  std::optional<driver::Calls> calls = driver::openDefault(why);
  if (!calls)
    return nullptr;
  if (driver::Result result = calls->init(0)) {
    why = "'" + calls->library +
          "' fails to start: " + calls->describe(result) +
          "; name another driver with FMHA_DRIVER";
    return nullptr;
  }
  return opened = new driver::Calls(std::move(*calls));
}

FmhaStatus check(const driver::Calls &driver, driver::Result result,
                 const char *what) {
  if (!result)
    return FMHA_SUCCESS;
  return fail(FMHA_ERROR_DRIVER, std::string(what) + " with '" +
                                     driver.library +
                                     "' failed: " + driver.describe(result));
}

FmhaStatus loadModule(const void *image, size_t bytes, const char *manifest,
                      FmhaModule *out) {
  const std::pair<const char *, const void *> given[] = {
      {"image", image}, {"manifest_json", manifest}, {"module", out}};
  for (auto [name, pointer] : given)
    if (!pointer)
      return fail(FMHA_ERROR_INVALID_ARGUMENT,
                  std::string(name) + ": expected an address, got NULL");
  auto made = std::make_unique<FmhaModuleImpl>();
  if (FmhaStatus status = load(*made, image, bytes, manifest)) {
    if (made->module)
      made->driver->moduleUnload(made->module);
    return status;
  }
  *out = made.release();
  return FMHA_SUCCESS;
}

FmhaStatus unloadModule(FmhaModule module) {
  if (!module)
    return FMHA_SUCCESS;
  std::unique_ptr<FmhaModuleImpl> owned(module);
  const driver::Calls &calls = *module->driver;
  driver::Context before = nullptr;
  calls.getContext(&before);
  if (before != module->context)
    calls.setContext(module->context);
  driver::Result result = calls.moduleUnload(module->module);
  if (before != module->context)
    calls.setContext(before);
  return check(calls, result, "unloading the module");
}

} // namespace fmha::capi
