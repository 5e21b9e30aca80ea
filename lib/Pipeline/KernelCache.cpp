//===- KernelCache.cpp - A cache of compiled kernels ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/KernelCache.h"
#include "BuildId.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Version.h"

#include "llvm-c/Core.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace fmha;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

namespace {
/// Writes lines "name value"; texts are preceded by their length, so that
/// different requests give different lines.
class KeyWriter {
public:
  void line(StringRef name, const Twine &value) {
    key += (name + " " + value + "\n").str();
  }
  void text(StringRef name, StringRef value) {
    line(name, Twine(value.size()) + " " + value);
  }
  std::string key;
};
} // namespace

static std::string llvmVersion() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return (Twine(major) + "." + Twine(minor) + "." + Twine(patch)).str();
}

static std::string describe(const MergeSpec &merge) {
  std::string text = utostr(merge.headDim) + " " + merge.output;
  for (const schedule::Fact &fact : schedule::facts)
    text += merge.*fact.there ? " 1" : " 0";
  return text;
}

std::string fmha::cacheKey(const KernelRequest &request) {
  const CompileOptions &options = request.options;
  KeyWriter writer;
  writer.line("fmha", FMHA_VERSION);
  writer.line("build", buildId());
  writer.line("llvm", llvmVersion());
  writer.text("target", options.target);
  writer.line("overrides", schedule::print(options.overrides));
  for (const schedule::Hint &hint : schedule::hints)
    writer.line("hint", Twine(options.hints.*hint.there));
  writer.line("from", stringify(options.from));
  writer.line("verify", Twine(options.verifyKernels));
  writer.line("pipeline", Twine(unsigned(options.pipeline)));
  writer.line("report", Twine(request.report));
  writer.line("cubin", Twine(request.cubin));
  writer.line("verify-registers", Twine(options.verifyRegisters));
  if (request.cubin || options.verifyRegisters) {
    // Another version is another file; running ptxas to ask for its version
    // would cost a process.
    std::string ptxas = findPtxas().value_or("");
    writer.text("ptxas", ptxas);
    writer.line("ptxas-file", fileIdentity(ptxas));
  }
  if (request.merge)
    writer.line("merge", describe(*request.merge));
  writer.text("name", request.name);
  writer.text("module", request.text);
  return std::move(writer.key);
}

//===----------------------------------------------------------------------===//
// Entries: magic, checksum of the rest, then texts with their lengths
//===----------------------------------------------------------------------===//

static constexpr StringLiteral magic = "fmha kernel 1\n";
static constexpr size_t checksumBytes = 16, lengthBytes = sizeof(uint64_t);
/// The key and the four texts of a kernel; three more for each diagnostic.
static constexpr size_t fixedTexts = 5, textsOfDiagnostic = 3;

static std::string checksum(StringRef bytes) {
  XXH128_hash_t hash = xxh3_128bits(arrayRefFromStringRef(bytes));
  std::string text(checksumBytes, 0);
  std::memcpy(text.data(), &hash.low64, 8);
  std::memcpy(text.data() + 8, &hash.high64, 8);
  return text;
}

static std::string encode(const std::string &key,
                          const CompiledKernel &kernel) {
  std::string body;
  auto add = [&](StringRef text) {
    uint64_t length = text.size();
    body.append(reinterpret_cast<const char *>(&length), lengthBytes);
    body += text;
  };
  for (const std::string *text :
       {&key, &kernel.ptx, &kernel.manifest, &kernel.report, &kernel.cubin})
    add(*text);
  for (const fmha::Diagnostic &diagnostic : kernel.diagnostics) {
    add(utostr(unsigned(diagnostic.severity)));
    add(diagnostic.location);
    add(diagnostic.message);
  }
  return magic.str() + checksum(body) + body;
}

/// Returns the texts of a body; nothing if their lengths do not fit it.
static std::optional<SmallVector<StringRef>> split(StringRef body) {
  SmallVector<StringRef> texts;
  while (!body.empty()) {
    uint64_t length = 0;
    if (body.size() < lengthBytes)
      return std::nullopt;
    std::memcpy(&length, body.data(), lengthBytes);
    body = body.drop_front(lengthBytes);
    if (length > body.size())
      return std::nullopt;
    texts.push_back(body.take_front(length));
    body = body.drop_front(length);
  }
  return texts;
}

/// Returns the kernel in `entry`, nothing if it is damaged or has another key.
static std::optional<CompiledKernel> decode(StringRef entry, StringRef key) {
  if (!entry.consume_front(magic) || entry.size() < checksumBytes)
    return std::nullopt;
  StringRef body = entry.drop_front(checksumBytes);
  if (entry.take_front(checksumBytes) != checksum(body))
    return std::nullopt;
  auto texts = split(body);
  if (!texts || texts->size() < fixedTexts || (*texts)[0] != key ||
      (texts->size() - fixedTexts) % textsOfDiagnostic)
    return std::nullopt;
  CompiledKernel kernel;
  kernel.ok = kernel.fromCache = true;
  kernel.ptx = (*texts)[1].str();
  kernel.manifest = (*texts)[2].str();
  kernel.report = (*texts)[3].str();
  kernel.cubin = (*texts)[4].str();
  for (size_t i = fixedTexts; i < texts->size(); i += textsOfDiagnostic) {
    unsigned severity = 0;
    (*texts)[i].getAsInteger(10, severity);
    kernel.diagnostics.push_back({fmha::Diagnostic::Severity(severity),
                                  (*texts)[i + 1].str(),
                                  (*texts)[i + 2].str()});
  }
  return kernel;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

/// Prints a line of each kind once per process; later kernels fail for the same
/// reason.
static void warnOnce(std::atomic<bool> &warned, const KernelCache::Warn &warn,
                     const std::string &line) {
  if (warn)
    return warn(line);
  if (!warned.exchange(true))
    errs() << "fmha: warning: " << line << "\n";
}

static void warnUnusable(const KernelCache::Warn &warn, StringRef what,
                         StringRef path, const std::string &reason) {
  static std::atomic<bool> warned = false;
  warnOnce(warned, warn,
           ("cannot " + what + " the kernel cache at '" + path +
            "': " + reason +
            "; kernels are compiled each time (FMHA_CACHE_DIR names another "
            "folder, FMHA_CACHE_DIR=off goes without)")
               .str());
}

static void warnDamaged(const KernelCache::Warn &warn, StringRef path) {
  static std::atomic<bool> warned = false;
  warnOnce(warned, warn,
           ("the entry '" + path +
            "' of the kernel cache is damaged; its kernel is compiled again")
               .str());
}

/// Finds the user's folder for caches. The XDG specification ignores paths in
/// XDG_CACHE_HOME that are empty or relative; cache_directory() does not.
static bool userCacheFolder(SmallVectorImpl<char> &folder) {
  const char *named = std::getenv("XDG_CACHE_HOME");
  if (!named || sys::path::is_absolute(named))
    return sys::path::cache_directory(folder);
  if (!sys::path::home_directory(folder))
    return false;
  sys::path::append(folder, ".cache");
  return true;
}

std::optional<KernelCache> KernelCache::fromEnvironment() {
  if (const char *named = std::getenv("FMHA_CACHE_DIR")) {
    if (!*named || StringRef(named) == "off")
      return std::nullopt;
    return KernelCache(named);
  }
  SmallString<128> folder;
  if (!userCacheFolder(folder))
    return std::nullopt;
  sys::path::append(folder, "fmha");
  return KernelCache(folder.str().str());
}

KernelCache::KernelCache(std::string folder, Warn warn)
    : folder(std::move(folder)), warn(std::move(warn)) {}

std::string KernelCache::path(const std::string &key) const {
  SmallString<128> path(folder);
  auto hash = SHA256::hash(arrayRefFromStringRef(key));
  // pruneCache() deletes files whose name begins like this, and no others.
  sys::path::append(path, "llvmcache-" + toHex(hash, /*LowerCase=*/true));
  return path.str().str();
}

std::optional<CompiledKernel> KernelCache::find(const std::string &key) const {
  std::string file = path(key);
  // Read instead of mapped: another process may truncate the file.
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer) {
    if (buffer.getError() != std::errc::no_such_file_or_directory)
      warnUnusable(warn, "read", file, buffer.getError().message());
    return std::nullopt;
  }
  auto kernel = decode((*buffer)->getBuffer(), key);
  if (!kernel)
    warnDamaged(warn, file);
  return kernel;
}

/// Writes `bytes` to a file of another name and renames it to `path`.
static Error writeAtomically(const std::string &path, StringRef bytes) {
  return writeToOutput(path, [&](raw_ostream &stream) -> Error {
    auto &file = static_cast<raw_fd_ostream &>(stream);
    file << bytes;
    file.flush();
    std::error_code code = file.error();
    file.clear_error();
    return errorCodeToError(code);
  });
}

/// Returns the message of `error` without the name of the file.
static std::string reasonOf(Error error) {
  std::string reason;
  handleAllErrors(
      std::move(error),
      [&](const FileError &file) { reason = file.messageWithoutFileInfo(); },
      [&](const ErrorInfoBase &other) { reason = other.message(); });
  return reason;
}

/// Deletes entries unread for a month, and the oldest beyond 1 GiB. Does so at
/// most once an hour.
static void prune(StringRef folder) {
  CachePruningPolicy policy;
  policy.Interval = std::chrono::hours(1);
  policy.Expiration = std::chrono::hours(24 * 30);
  policy.MaxSizeBytes = uint64_t(1) << 30;
  policy.MaxSizePercentageOfAvailableSpace = 0;
  pruneCache(folder, policy);
}

void KernelCache::store(const std::string &key,
                        const CompiledKernel &kernel) const {
  if (std::error_code code = sys::fs::create_directories(
          folder, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return warnUnusable(warn, "create", folder, code.message());
  if (Error error = writeAtomically(path(key), encode(key, kernel)))
    return warnUnusable(warn, "write", folder, reasonOf(std::move(error)));
  prune(folder);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void addError(CompiledKernel &kernel, const std::string &message) {
  kernel.ok = false;
  kernel.diagnostics.push_back(
      {fmha::Diagnostic::Severity::Error, "", message});
}

static void addCubin(CompiledKernel &kernel, const std::string &target) {
  AssembleResult assembled = assemble(kernel.ptx, target);
  switch (assembled.status) {
  case AssembleResult::Status::Ok:
    kernel.cubin = std::move(assembled.cubin);
    break;
  case AssembleResult::Status::Failed:
    addError(kernel, "ptxas rejects the PTX:\n" + assembled.log);
    break;
  case AssembleResult::Status::Missing:
    addError(kernel, "a cubin needs ptxas: expected it on the PATH or named by "
                     "FMHA_PTXAS, got neither; PTX needs no ptxas");
    break;
  }
}

static CompiledKernel compileNow(const KernelRequest &request) {
  CompileOptions options = request.options;
  options.to.reset();
  options.keepLevels = options.keepLLVM = false;
  CompileResult result = request.merge
                             ? compileMerge(*request.merge, options.target)
                             : compile(request.text, request.name, options);
  CompiledKernel kernel;
  kernel.ok = result.ok;
  kernel.diagnostics = std::move(result.diagnostics);
  kernel.ptx = std::move(result.ptx);
  kernel.manifest = std::move(result.manifest);
  if (request.report && result.plan)
    kernel.report = schedule::explain(result.spec.problem, *result.plan);
  if (request.cubin && kernel.ok)
    addCubin(kernel, options.target);
  return kernel;
}

CompiledKernel fmha::compileKernel(const KernelRequest &request,
                                   const KernelCache *cache) {
  if (!cache)
    return compileNow(request);
  std::string key = cacheKey(request);
  if (std::optional<CompiledKernel> found = cache->find(key))
    return std::move(*found);
  CompiledKernel kernel = compileNow(request);
  if (kernel.ok)
    cache->store(key, kernel);
  return kernel;
}
