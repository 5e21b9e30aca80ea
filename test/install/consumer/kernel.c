//===- kernel.c - Compile and load a kernel from C ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Compiler.h"
#include "fmha-c/Runtime.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  const char *options = "{\"target\": \"sm_90a\", \"head-dim\": 64, "
                        "\"lse\": true, \"cache\": false}";
  FmhaResult *kernel;
  if (fmhaCompile(NULL, options, &kernel)) {
    fprintf(stderr, "%s\n", fmhaResultMessages(kernel));
    return 1;
  }
  FmhaModule module;
  const char *ptx = fmhaResultPtx(kernel);
  if (fmhaModuleLoad(ptx, strlen(ptx), fmhaResultManifest(kernel), &module)) {
    fprintf(stderr, "%s\n", fmhaLastError());
    return 1;
  }
  for (size_t i = 0; i < fmhaTensorCount(module); ++i)
    printf("%s ", fmhaTensorName(module, i));
  puts("loaded from C");
  fmhaModuleUnload(module);
  fmhaResultDestroy(kernel);
  return 0;
}
