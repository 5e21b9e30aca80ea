//===- Names.cpp - The names that a launch manifest uses ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Names.h"

namespace fmha::launch {
namespace {

using Name = std::string_view;

constexpr Name elementNames[] = {
#define FMHA_ELEMENT(enumerator, name, bytes) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name captureElementNames[] = {
#define FMHA_CAPTURE_ELEMENT(enumerator, name, bytes) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name runValueNames[] = {
#define FMHA_RUN_VALUE(enumerator, name) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name tensorNames[] = {
#define FMHA_TENSOR(enumerator, name) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name mapDimNames[] = {
#define FMHA_MAP_DIM(enumerator, name) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name swizzleNames[] = {
#define FMHA_SWIZZLE(enumerator, name) name,
#include "fmha/Runtime/Launch/Names.def"
};
constexpr Name parameterKindNames[] = {
#define FMHA_PARAMETER_KIND(enumerator, name) name,
#include "fmha/Runtime/Launch/Names.def"
};

} // namespace

namespace detail {
using All = const std::span<const Name>;
All Names<ElementType>::all = elementNames;
All Names<CaptureElement>::all = captureElementNames;
All Names<RunValue>::all = runValueNames;
All Names<TensorName>::all = tensorNames;
All Names<MapDim>::all = mapDimNames;
All Names<Swizzle>::all = swizzleNames;
All Names<ParameterKind>::all = parameterKindNames;
} // namespace detail

size_t sizeOf(ElementType type) {
  constexpr size_t bytes[] = {
#define FMHA_ELEMENT(enumerator, name, bytes) bytes,
#include "fmha/Runtime/Launch/Names.def"
  };
  return bytes[size_t(type)];
}

size_t sizeOf(CaptureElement type) {
  constexpr size_t bytes[] = {
#define FMHA_CAPTURE_ELEMENT(enumerator, name, bytes) bytes,
#include "fmha/Runtime/Launch/Names.def"
  };
  return bytes[size_t(type)];
}

} // namespace fmha::launch
