//===- ModuleTest.cpp - What module loading accepts and refuses -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Api.h"
#include "../Kernels.h"

#include <cstring>
#include <vector>

namespace {

class ModuleTest : public DriverTest {
protected:
  /// The result of loading the bytes; a loaded module is unloaded.
  static CUresult loading(const void *image) {
    CUmodule module = nullptr;
    CUresult result = call("cuModuleLoadData", &module, image);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(call("cuModuleUnload", module), CUDA_SUCCESS);
    }
    return result;
  }
};

std::string forTarget(const char *target) {
  return std::string(".version 9.0\n.target ") + target +
         "\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
}

TEST_F(ModuleTest, TextCutAnywhereNeverCrashes) {
  // Past this point only the end of the last entry is missing or nothing.
  size_t last = kernels.rfind('}');
  for (size_t end = 0; end < kernels.size(); end += 7) {
    CUresult result = loading(kernels.substr(0, end).c_str());
    if (end > last)
      continue;
    // A cut between two entries leaves a whole module.
    std::string rest = kernels.substr(0, end);
    size_t close = rest.rfind('}'), open = rest.rfind('{');
    bool inside = open != rest.npos && (close == rest.npos || close < open);
    if (inside) {
      EXPECT_EQ(result, CUDA_ERROR_INVALID_PTX) << "cut at byte " << end;
    }
  }
}

TEST_F(ModuleTest, ErrorsGoToTheLogBuffer) {
  std::string text = ".version 8.6\n.target sm_90\n.address_size 64\n"
                     ".entry k()\n{\nfrobnicate.u32 %r1;\n}\n";
  char log[512] = "untouched";
  int options[] = {5, 6}; // error log buffer, and its size
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule module = nullptr;
  EXPECT_EQ(call("cuModuleLoadDataEx", &module,
                 static_cast<const void *>(text.c_str()), 2u,
                 static_cast<int *>(options), static_cast<void **>(values)),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(log, "frobnicate"), nullptr) << log;
  EXPECT_NE(std::strstr(log, ":6:"), nullptr) << log;
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), std::strlen(log));
}

TEST_F(ModuleTest, ShortLogBufferIsNeverOverrun) {
  char log[16];
  std::memset(log, '#', sizeof log);
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(size_t(8))};
  CUmodule module = nullptr;
  EXPECT_EQ(call("cuModuleLoadDataEx", &module,
                 static_cast<const void *>(".version 8.6\nnonsense"), 2u,
                 static_cast<int *>(options), static_cast<void **>(values)),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(log[7], 0);
  EXPECT_EQ(std::string(log + 8, 8), "########");
}

TEST_F(ModuleTest, TargetDecidesWhatLoads) {
  struct Case {
    const char *device, *target;
    bool runs;
  };
  for (Case c : {Case{"sm_100a", "sm_100a", true},
                 {"sm_100a", "sm_90", true},
                 {"sm_100a", "sm_90a", false},
                 {"sm_100a", "sm_103a", false},
                 {"sm_103a", "sm_100a", false},
                 {"sm_103a", "sm_100f", true},
                 {"sm_90a", "sm_100", false},
                 {"sm_90a", "sm_80", true}}) {
    option("target", c.device);
    EXPECT_EQ(loading(forTarget(c.target).c_str()),
              c.runs ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX)
        << c.target << " on " << c.device;
  }
}

TEST_F(ModuleTest, CubinsHaveNoBinary) {
  std::vector<char> elf(128, 0);
  std::memcpy(elf.data(), "\177ELF", 4);
  elf[18] = char(190); // e_machine = EM_CUDA
  EXPECT_EQ(loading(elf.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// A fatbin with one entry, laid out as fatbinary writes it.
std::string fatbin(uint16_t kind, uint64_t flags, const std::string &payload) {
  std::string entry;
  append<uint16_t>(entry, kind);
  append<uint16_t>(entry, 0x101);
  append<uint32_t>(entry, 64);
  append<uint64_t>(entry, payload.size());
  append<uint64_t>(entry, 0);           // compressed size, unused
  append<uint32_t>(entry, 6 << 16 | 8); // version
  append<uint32_t>(entry, 90);          // sm
  append<uint64_t>(entry, 0);           // name
  append<uint64_t>(entry, flags);
  entry.resize(64);
  entry += payload;
  std::string file;
  append<uint32_t>(file, 0xBA55ED50u);
  append<uint16_t>(file, 1);
  append<uint16_t>(file, 16);
  append<uint64_t>(file, entry.size());
  return file + entry;
}

TEST_F(ModuleTest, FatbinsGiveTheirPtx) {
  std::string ptx = forTarget("sm_90") + '\0';
  EXPECT_EQ(loading(fatbin(1, 0, ptx).data()), CUDA_SUCCESS)
      << textCall("ptxsimLastError");
  EXPECT_EQ(loading(fatbin(2, 0, ptx).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loading(fatbin(1, 0x2000, ptx).data()),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(ModuleTest, HandlesOfUnloadedModulesAreRefused) {
  CUmodule module = load(kernels);
  CUfunction f = function(module, "waits");
  ASSERT_EQ(call("cuModuleUnload", module), CUDA_SUCCESS);
  EXPECT_EQ(launch(f, 1, 32, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(call("cuModuleUnload", module), CUDA_ERROR_INVALID_HANDLE);
}

} // namespace
