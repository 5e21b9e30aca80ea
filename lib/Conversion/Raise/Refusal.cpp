//===- Refusal.cpp - Why an op is not raised ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refusal.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fmha::raise;

namespace {
struct ReasonText {
  const char *id, *text;
};
} // namespace

static constexpr ReasonText reasonTexts[] = {
#define FMHA_REFUSAL(name, id, text) {id, text},
#include "fmha/Conversion/Raise/Refusals.def"
};

StringRef Refusal::id() const { return reasonTexts[unsigned(reason)].id; }

std::string Refusal::text() const {
  return llvm::formatv(false, reasonTexts[unsigned(reason)].text, first,
                       second);
}

std::string fmha::raise::shapeText(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape,
                                    [](int64_t extent) {
                                      return ShapedType::isDynamic(extent)
                                                 ? std::string("?")
                                                 : std::to_string(extent);
                                    }),
                    "x");
}

template <typename Printed> static std::string printed(Printed what) {
  std::string text;
  llvm::raw_string_ostream(text) << what;
  return text;
}
std::string fmha::raise::textOf(Type type) { return printed(type); }
std::string fmha::raise::textOf(Attribute attribute) {
  return printed(attribute);
}

/// Returns a missed remark, which is empty if remarks of the category are off.
static remark::detail::InFlightRemark missedRemark(Operation *op,
                                                   const Refusal &refusal) {
  return remark::missed(
      op->getLoc(),
      remark::RemarkOpts::name(refusal.id()).category("fmha-raise"));
}

void fmha::raise::reportMissed(Operation *op, const Refusal &refusal) {
  missedRemark(op, refusal) << refusal.text();
}

void fmha::raise::reportRefused(Operation *op, const Refusal &refusal) {
  if (remark::detail::InFlightRemark remark = missedRemark(op, refusal))
    remark << refusal.text();
  else
    op->emitRemark() << "not raised: " << refusal.text();
}
