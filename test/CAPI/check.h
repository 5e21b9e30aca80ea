//===- check.h - Checks of C test programs --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_CAPI_CHECK_H
#define FMHA_TEST_CAPI_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the line of the failed check. */
#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);     \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* Checks that `text` contains `part`, and shows both where it does not. */
#define CHECK_HAS(text, part)                                                  \
  do {                                                                         \
    if (!strstr(text, part)) {                                                 \
      printf("%s:%d: expected '%s' in: %s\n", __FILE__, __LINE__, part, text); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#endif // FMHA_TEST_CAPI_CHECK_H
