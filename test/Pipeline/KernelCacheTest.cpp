//===- KernelCacheTest.cpp - Kernels that were compiled before ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/KernelCache.h"
#include "fmha/Schedule/Model/Overrides.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fmha;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

class KernelCacheTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fmha-cache", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  KernelCache cacheAt(const std::string &path) {
    return KernelCache(
        path, [this](const std::string &line) { warnings.push_back(line); });
  }
  KernelCache cache() { return cacheAt(folder.str().str()); }

  llvm::SmallString<128> folder;
  std::vector<std::string> warnings;
};

std::string randomText(std::mt19937 &random, size_t bytes) {
  std::string text(bytes, 0);
  for (char &c : text)
    c = char(random());
  return text;
}

CompiledKernel randomKernel(std::mt19937 &random, size_t bytes) {
  CompiledKernel kernel;
  kernel.ok = true;
  for (std::string *text :
       {&kernel.ptx, &kernel.manifest, &kernel.report, &kernel.cubin})
    *text = randomText(random, random() % (bytes + 1));
  for (unsigned n = random() % 3; n; --n)
    kernel.diagnostics.push_back({Diagnostic::Severity(random() % 4),
                                  randomText(random, 5),
                                  randomText(random, 9)});
  return kernel;
}

void expectEqual(const CompiledKernel &a, const CompiledKernel &b) {
  EXPECT_EQ(a.ok, b.ok);
  EXPECT_EQ(a.ptx, b.ptx);
  EXPECT_EQ(a.manifest, b.manifest);
  EXPECT_EQ(a.report, b.report);
  EXPECT_EQ(a.cubin, b.cubin);
  ASSERT_EQ(a.diagnostics.size(), b.diagnostics.size());
  for (size_t i = 0; i < a.diagnostics.size(); ++i) {
    EXPECT_EQ(a.diagnostics[i].severity, b.diagnostics[i].severity);
    EXPECT_EQ(a.diagnostics[i].location, b.diagnostics[i].location);
    EXPECT_EQ(a.diagnostics[i].message, b.diagnostics[i].message);
  }
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

KernelRequest request() {
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = 64;
  KernelRequest request;
  request.text = buildModule(spec);
  request.name = "<test>";
  return request;
}

std::string keyWith(const std::function<void(KernelRequest &)> &change) {
  KernelRequest changed = request();
  change(changed);
  return cacheKey(changed);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

TEST(CacheKey, DependsOnEverythingThatAKernelDependsOn) {
  std::set<std::string> keys = {cacheKey(request())};
  size_t changes = 0;
  auto differs = [&](const std::function<void(KernelRequest &)> &change) {
    EXPECT_TRUE(keys.insert(keyWith(change)).second) << "change " << changes;
    ++changes;
  };
  differs([](KernelRequest &r) { r.text += " "; });
  differs([](KernelRequest &r) { r.name = "other.mlir"; });
  differs([](KernelRequest &r) { r.report = true; });
  differs([](KernelRequest &r) { r.cubin = true; });
  differs([](KernelRequest &r) { r.options.target = "sm_90a"; });
  differs([](KernelRequest &r) { r.options.from = Level::NVVM; });
  differs([](KernelRequest &r) { r.options.verifyKernels = false; });
  differs([](KernelRequest &r) { r.options.verifyRegisters = true; });
  differs([](KernelRequest &r) { r.options.hints.batch = 7; });
  differs([](KernelRequest &r) { r.options.hints.qHeads = 7; });
  differs([](KernelRequest &r) { r.options.hints.kvHeads = 7; });
  differs([](KernelRequest &r) { r.options.hints.qLen = 7; });
  differs([](KernelRequest &r) { r.options.hints.kvLen = 7; });
  differs([](KernelRequest &r) {
    r.options.overrides.pPlacement = schedule::PPlacement::Smem;
  });
  differs([](KernelRequest &r) { r.merge.emplace(); });
  differs([](KernelRequest &r) { r.merge.emplace().headDim = 64; });
  differs([](KernelRequest &r) { r.merge.emplace().output = "f32"; });
  for (bool MergeSpec::*feature :
       {&MergeSpec::lse, &MergeSpec::rowMax, &MergeSpec::rowSum,
        &MergeSpec::sink, &MergeSpec::unnormalised})
    differs([&](KernelRequest &r) { r.merge.emplace().*feature = true; });
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    for (unsigned value : {0u, 1u})
      differs([&](KernelRequest &r) {
        r.options.overrides.fix(field.choice, value);
      });
}

TEST(CacheKey, IsOneForEqualRequests) {
  EXPECT_EQ(cacheKey(request()), cacheKey(request()));
  EXPECT_EQ(cacheKey(request()), keyWith([](KernelRequest &r) {
              r.options.keepLevels = r.options.keepLLVM = true;
              r.options.to = Level::Tiled;
            }));
}

/// A text cannot imitate the lines before it.
TEST(CacheKey, KeepsTextsApart) {
  EXPECT_NE(keyWith([](KernelRequest &r) {
              r.name = "a";
              r.text = "b";
            }),
            keyWith([](KernelRequest &r) {
              r.name = "a\nmodule 1 b";
              r.text = "";
            }));
}

/// Another ptxas, or the same path with another file, gives other cubins.
TEST_F(KernelCacheTest, KeysOfCubinsNamePtxas) {
  std::string path = (folder + "/ptxas").str();
  auto key = [&] { return keyWith([](KernelRequest &r) { r.cubin = true; }); };
  const char *before = std::getenv("FMHA_PTXAS");
  std::string kept = before ? before : "";
  setenv("FMHA_PTXAS", path.c_str(), 1);
  std::string without = key();
  write(path, "#!/bin/sh\n");
  chmod(path.c_str(), 0755);
  std::string first = key();
  write(path, "#!/bin/sh\nexit 1\n");
  std::string second = key();
  before ? setenv("FMHA_PTXAS", kept.c_str(), 1) : unsetenv("FMHA_PTXAS");
  EXPECT_NE(without, first);
  EXPECT_NE(first, second);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST_F(KernelCacheTest, GivesBackWhatWasStored) {
  unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 50; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", kernel " << n);
    std::string key = randomText(random, 40);
    CompiledKernel kernel = randomKernel(random, n < 10 ? n : 3000);
    EXPECT_FALSE(cache().find(key));
    cache().store(key, kernel);
    auto found = cache().find(key);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->fromCache);
    expectEqual(*found, kernel);
  }
  EXPECT_THAT(warnings, IsEmpty());
}

/// Cut at every length, changed in every byte, or longer: no kernel, one
/// warning, and the next one stored is whole again.
TEST_F(KernelCacheTest, TakesNoDamagedEntry) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  CompiledKernel kernel = randomKernel(random, 60);
  cache().store("key", kernel);
  std::string path = cache().path("key"), whole = read(path);
  std::vector<std::string> damaged = {whole + '\0', whole + whole};
  for (size_t length = 0; length < whole.size(); ++length) {
    damaged.push_back(whole.substr(0, length));
    damaged.push_back(whole);
    damaged.back()[length] ^= char(1 << random() % 8);
  }
  for (const std::string &bytes : damaged) {
    write(path, bytes);
    warnings.clear();
    ASSERT_FALSE(cache().find("key"));
    ASSERT_THAT(warnings, ElementsAre(HasSubstr("'" + path +
                                                "' of the kernel "
                                                "cache is damaged")));
  }
  cache().store("key", kernel);
  ASSERT_TRUE(cache().find("key"));
  EXPECT_EQ(read(path), whole);
}

/// Hashes do not collide, but a file may be copied.
TEST_F(KernelCacheTest, TakesNoEntryOfAnotherKey) {
  std::mt19937 random(1);
  cache().store("one", randomKernel(random, 60));
  llvm::sys::fs::copy_file(cache().path("one"), cache().path("other"));
  EXPECT_FALSE(cache().find("other"));
  EXPECT_TRUE(cache().find("one"));
}

/// Processes that write and read at once: each reader finds one whole kernel.
TEST_F(KernelCacheTest, SurvivesRacingProcesses) {
  constexpr unsigned processes = 8, rounds = 60;
  std::vector<CompiledKernel> kernels;
  for (unsigned n = 0; n < processes; ++n) {
    std::mt19937 random(n);
    kernels.push_back(randomKernel(random, 200000));
    kernels.back().ptx += "/" + std::to_string(n);
  }
  auto run = [&](unsigned number) {
    for (unsigned round = 0; round < rounds; ++round) {
      cache().store("key", kernels[number]);
      auto found = cache().find("key");
      if (!found || !llvm::any_of(kernels, [&](const CompiledKernel &kernel) {
            return found->ptx == kernel.ptx && found->cubin == kernel.cubin &&
                   found->diagnostics.size() == kernel.diagnostics.size();
          }))
        return 1;
    }
    return warnings.empty() ? 0 : 2;
  };
  for (unsigned number = 0; number < processes; ++number)
    if (fork() == 0)
      _exit(run(number));
  for (unsigned number = 0; number < processes; ++number) {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  unsigned files = 0;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator at(folder, code), end;
       at != end && !code; at.increment(code))
    files += llvm::sys::path::filename(at->path()) != "llvmcache.timestamp";
  EXPECT_EQ(files, 1u) << "temporary files were left behind";
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Runs `body` in a separate process, where it may change user and limits.
int inChild(const std::function<int()> &body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST_F(KernelCacheTest, CreatesItsFolderForTheUserAlone) {
  std::mt19937 random(1);
  std::string deep = (folder + "/a/b").str();
  cacheAt(deep).store("key", randomKernel(random, 9));
  EXPECT_TRUE(cacheAt(deep).find("key"));
  auto rights = llvm::sys::fs::getPermissions(deep);
  ASSERT_TRUE(bool(rights));
  EXPECT_EQ(*rights & llvm::sys::fs::all_all, llvm::sys::fs::owner_all);
}

TEST_F(KernelCacheTest, GoesWithoutAFolderThatCannotBeWritten) {
  std::mt19937 random(1);
  CompiledKernel kernel = randomKernel(random, 9);
  cache().store("there", kernel);
  chmod(folder.c_str(), 0555);
  int code = inChild([&] {
    // Root may write anywhere.
    if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
      return 3;
    cache().store("key", kernel);
    if (warnings.size() != 1 ||
        warnings[0].find("cannot write the kernel cache at '" +
                         folder.str().str()) == std::string::npos)
      return 4;
    return cache().find("key") ? 5 : 0;
  });
  chmod(folder.c_str(), 0755);
  EXPECT_EQ(code, 0);
}

TEST_F(KernelCacheTest, GoesWithoutAFolderThatIsAFile) {
  std::mt19937 random(1);
  std::string file = (folder + "/file").str();
  write(file, "mine");
  EXPECT_FALSE(cacheAt(file).find("key"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("cannot read the kernel cache")));
  warnings.clear();
  cacheAt(file).store("key", randomKernel(random, 9));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("cannot write the kernel cache "
                                              "at '" +
                                              file + "': Not a directory;")));
  EXPECT_EQ(read(file), "mine");
}

/// A limit on the size of files simulates a full disk.
TEST_F(KernelCacheTest, LeavesNoPartOfAnEntryOnAFullDisk) {
  std::mt19937 random(1);
  CompiledKernel kernel = randomKernel(random, 9);
  kernel.ptx = std::string(100000, 'x');
  int code = inChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{5000, 5000};
    if (setrlimit(RLIMIT_FSIZE, &limit))
      return 3;
    cache().store("key", kernel);
    if (warnings.size() != 1 ||
        warnings[0].find("cannot write the kernel cache") == std::string::npos)
      return 4;
    return cache().find("key") ? 5 : 0;
  });
  EXPECT_EQ(code, 0);
  std::error_code error;
  llvm::sys::fs::directory_iterator left(folder, error);
  EXPECT_EQ(left, llvm::sys::fs::directory_iterator());
}

/// Without a function for warnings, a cache writes only the first one to
/// standard error.
TEST_F(KernelCacheTest, WarnsOnce) {
  KernelCache quiet("/dev/null/cache");
  testing::internal::CaptureStderr();
  quiet.find("one");
  quiet.find("two");
  quiet.store("two", {});
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("fmha: warning: cannot read the kernel cache"));
  EXPECT_EQ(llvm::StringRef(text).count('\n'), 1u) << text;
}

//===----------------------------------------------------------------------===//
// Environment
//===----------------------------------------------------------------------===//

/// The path of an entry under the given variables; "" for no cache.
std::string pathWith(const char *named, const char *xdg) {
  auto set = [](const char *name, const char *value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  const char *old = std::getenv("FMHA_CACHE_DIR");
  std::string kept = old ? old : "";
  set("FMHA_CACHE_DIR", named);
  set("XDG_CACHE_HOME", xdg);
  auto cache = KernelCache::fromEnvironment();
  set("FMHA_CACHE_DIR", old ? kept.c_str() : nullptr);
  unsetenv("XDG_CACHE_HOME");
  return cache ? llvm::sys::path::parent_path(cache->path("key")).str() : "";
}

TEST(KernelCacheFromEnvironment, FollowsTheVariables) {
  EXPECT_EQ(pathWith("/some/where", "/xdg"), "/some/where");
  EXPECT_EQ(pathWith("", "/xdg"), "");
  EXPECT_EQ(pathWith("off", "/xdg"), "");
  // Empty and relative paths are ignored.
  EXPECT_EQ(pathWith(nullptr, ""), pathWith(nullptr, nullptr));
  EXPECT_EQ(pathWith(nullptr, "rel"), pathWith(nullptr, nullptr));
  EXPECT_EQ(pathWith(nullptr, "/xdg"), "/xdg/fmha");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(pathWith(nullptr, nullptr), "/home/me/.cache/fmha");
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

TEST_F(KernelCacheTest, CompilesOnceAndRepairsWhatIsDamaged) {
  KernelCache used = cache();
  CompiledKernel plain = compileKernel(request(), nullptr);
  ASSERT_TRUE(plain.ok);
  EXPECT_THAT(plain.ptx, HasSubstr(".target sm_100a"));
  CompiledKernel first = compileKernel(request(), &used);
  CompiledKernel second = compileKernel(request(), &used);
  EXPECT_FALSE(first.fromCache);
  EXPECT_TRUE(second.fromCache);
  expectEqual(first, plain);
  expectEqual(second, plain);
  std::string path = used.path(cacheKey(request()));
  write(path, read(path).substr(0, 1000));
  CompiledKernel third = compileKernel(request(), &used);
  EXPECT_FALSE(third.fromCache);
  expectEqual(third, plain);
  EXPECT_TRUE(compileKernel(request(), &used).fromCache);
  EXPECT_THAT(warnings, SizeIs(1));
}

TEST_F(KernelCacheTest, StoresNoFailures) {
  KernelCache used = cache();
  KernelRequest wrong = request();
  wrong.text = "oops";
  for (unsigned n = 0; n < 2; ++n) {
    CompiledKernel kernel = compileKernel(wrong, &used);
    EXPECT_FALSE(kernel.ok || kernel.fromCache);
    EXPECT_THAT(kernel.diagnostics, testing::Not(IsEmpty()));
  }
}

/// A hit returns the entry without parsing the module, which is invalid here.
TEST_F(KernelCacheTest, ReadsNoModuleOnAHit) {
  KernelCache used = cache();
  std::mt19937 random(1);
  KernelRequest wrong = request();
  wrong.text = "oops";
  CompiledKernel kernel = randomKernel(random, 400000);
  kernel.ptx = randomText(random, 300000);
  used.store(cacheKey(wrong), kernel);
  auto start = std::chrono::steady_clock::now();
  CompiledKernel found = compileKernel(wrong, &used);
  std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(found.fromCache);
  expectEqual(found, kernel);
  std::cout << "look-up of " << kernel.ptx.size()
            << " bytes of PTX: " << spent.count() << " ms\n";
}

} // namespace
