//===- Files.cpp - Reading whole files ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "ElementType.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ptxsim::tool {

std::string readFile(const std::string &path) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  std::string text;
  char buffer[65536];
  // A directory can be opened, but not read.
  while (file) {
    size_t got = std::fread(buffer, 1, sizeof buffer, file);
    text.append(buffer, got);
    if (got < sizeof buffer)
      break;
  }
  bool failed = !file || std::ferror(file);
  int reason = errno;
  if (file && file != stdin)
    std::fclose(file);
  if (failed)
    throw BadInput("cannot read '" + path + "': " + std::strerror(reason));
  return text;
}

} // namespace ptxsim::tool
