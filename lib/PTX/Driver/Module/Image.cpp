//===- Image.cpp - Module images passed by a host -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Image.h"

#include <cstring>

namespace ptxsim::driver {
namespace {

constexpr uint16_t machineCuda = 190; // EM_CUDA
constexpr uint16_t kindPtx = 1;
/// Flags of a fatbin entry whose payload is compressed (LZ4, zstd).
constexpr uint64_t compressedFlags = 0x2000 | 0x8000;

struct FatbinHeader {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes;
};

struct FatbinEntry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;
  uint32_t compressedBytes, unused;
  uint16_t minor, major;
  uint32_t arch, nameOffset, nameBytes;
  uint64_t flags;
};

template <typename T> T peek(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Returns the newest PTX of a fatbin, since it runs on the highest device.
Image readFatbin(const char *bytes) {
  auto header = peek<FatbinHeader>(bytes);
  const char *at = bytes + header.headerBytes, *end = at + header.bytes;
  Image image{CUDA_ERROR_NO_BINARY_FOR_GPU, "",
              "the fatbin holds no uncompressed PTX: build it with "
              "-gencode arch=compute_XX,code=compute_XX and --no-compress"};
  uint32_t best = 0;
  while (end - at >= ptrdiff_t(sizeof(FatbinEntry))) {
    auto entry = peek<FatbinEntry>(at);
    uint64_t step = entry.headerBytes + entry.bytes;
    if (entry.headerBytes < sizeof(FatbinEntry) || step > uint64_t(end - at))
      break;
    bool usable = entry.kind == kindPtx && !(entry.flags & compressedFlags);
    if (usable && entry.arch >= best) {
      best = entry.arch;
      const char *text = at + entry.headerBytes;
      image = {CUDA_SUCCESS, std::string(text, strnlen(text, entry.bytes)), ""};
    }
    at += step;
  }
  return image;
}

/// Returns the text after white space and comments.
std::string_view skipComments(std::string_view text) {
  for (;;) {
    size_t start = text.find_first_not_of(" \t\r\n\f\v");
    if (start == text.npos)
      return {};
    text.remove_prefix(start);
    bool line = text.substr(0, 2) == "//", block = text.substr(0, 2) == "/*";
    if (!line && !block)
      return text;
    size_t end = text.find(line ? "\n" : "*/", 2);
    if (end == text.npos)
      return {};
    text.remove_prefix(end + (line ? 1 : 2));
  }
}

Image readText(const char *bytes) {
  constexpr std::string_view directive = ".version";
  std::string_view text = skipComments(bytes);
  if (text.substr(0, directive.size()) != directive)
    return {CUDA_ERROR_INVALID_IMAGE, "",
            "the image is no PTX text: expected it to begin with .version"};
  text.remove_prefix(directive.size());
  size_t digit = text.find_first_not_of(" \t\r\n");
  // Two digits before the point: a version that no toolkit writes yet.
  if (digit != text.npos && text.find('.', digit) >= digit + 2)
    return {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "",
            "unsupported .version, expected at most 9.x"};
  return {CUDA_SUCCESS, bytes, ""};
}

} // namespace

Image readImage(const void *image) {
  const char *bytes = static_cast<const char *>(image);
  // Byte by byte first: a text image may be shorter than a header.
  if (std::strncmp(bytes, "\177ELF", 4) == 0) {
    if (peek<uint16_t>(bytes + 18) == machineCuda)
      return {CUDA_ERROR_NO_BINARY_FOR_GPU, "",
              "the image is a cubin without PTX, which the simulator cannot "
              "run: load the PTX text instead"};
    return {CUDA_ERROR_INVALID_IMAGE, "", "the image is an ELF file, no cubin"};
  }
  if (std::strncmp(bytes, "\x50\xED\x55\xBA", 4) == 0)
    return readFatbin(bytes);
  return readText(bytes);
}

} // namespace ptxsim::driver
