/*===- launch.c - A C program on the installed package ----------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * Asks the installed library for what needs no device.
 *
 *===------------------------------------------------------------------------===*/

#include <fmha-c/Runtime.h>

#include <stdio.h>

int main(void) {
  FmhaModule module = NULL;
  FmhaStatus status = fmhaModuleLoad("", 0, "{", &module);
  printf("status %d: %s\n", (int)status, fmhaLastError());
  return status != FMHA_ERROR_MANIFEST || module;
}
