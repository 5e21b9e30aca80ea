//===- MmaFormTest.cpp - The word of a form of tcgen05.mma ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"

#include "gtest/gtest.h"

using namespace fmha::tcgen05;

namespace {

MmaForm sparseForm(MmaKind kind, const char *type, unsigned block) {
  MmaForm form;
  form.kind = kind;
  form.a = form.b = type;
  form.d = "f32";
  form.n = 128;
  form.sparse = true;
  form.block = block;
  form.scale = block ? "f8E8M0FNU" : "";
  return form;
}

// The verifier rejects larger selectors than the table's, of which no op can
// have the word.
TEST(MmaFormTest, WordHasTheSelectorOfEachKind) {
  for (MmaForm form : {sparseForm(MmaKind::F16, "bf16", 0),
                       sparseForm(MmaKind::F8F6F4, "f8E5M2", 0),
                       sparseForm(MmaKind::MXF8F6F4, "f8E4M3FN", 32),
                       sparseForm(MmaKind::MXF4, "f4E2M1FN", 32),
                       sparseForm(MmaKind::MXF4NVF4, "f4E2M1FN", 16)}) {
    EXPECT_EQ(form.check(), std::nullopt);
    uint32_t without = form.word();
    EXPECT_EQ(without & 7, 4u);
    for (unsigned selector = 1; selector < 4; ++selector) {
      form.selector = selector;
      EXPECT_EQ(form.word(), without | selector);
      EXPECT_EQ(form.check() == std::nullopt,
                selector == 1 && form.kind == MmaKind::F16);
    }
  }
}

} // namespace
