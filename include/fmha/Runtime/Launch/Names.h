//===- Names.h - The names in a launch manifest -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The enums of Names.def. nameOf(RunValue::QLen) is "q_len", and
// namesOf<RunValue>() has all spellings in the order of the enumerators.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_NAMES_H
#define FMHA_RUNTIME_LAUNCH_NAMES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fmha::launch {

enum class ElementType {
#define FMHA_ELEMENT(enumerator, name, bytes) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class CaptureElement {
#define FMHA_CAPTURE_ELEMENT(enumerator, name, bytes) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class RunValue {
#define FMHA_RUN_VALUE(enumerator, name) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class TensorName {
#define FMHA_TENSOR(enumerator, name) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class MapDim {
#define FMHA_MAP_DIM(enumerator, name) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class Swizzle {
#define FMHA_SWIZZLE(enumerator, name) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};
enum class ParameterKind {
#define FMHA_PARAMETER_KIND(enumerator, name) enumerator,
#include "fmha/Runtime/Launch/Names.def"
};

namespace detail {
template <typename Enum> struct Names;
#define FMHA_NAMES(type)                                                       \
  template <> struct Names<type> {                                             \
    static const std::span<const std::string_view> all;                        \
  };
FMHA_NAMES(ElementType)
FMHA_NAMES(CaptureElement)
FMHA_NAMES(RunValue)
FMHA_NAMES(TensorName)
FMHA_NAMES(MapDim)
FMHA_NAMES(Swizzle)
FMHA_NAMES(ParameterKind)
#undef FMHA_NAMES
} // namespace detail

/// Returns the spellings of all enumerators, in their order.
template <typename Enum> std::span<const std::string_view> namesOf() {
  return detail::Names<Enum>::all;
}
/// Returns the spelling of `value` in a manifest.
template <typename Enum> std::string_view nameOf(Enum value) {
  return detail::Names<Enum>::all[size_t(value)];
}

/// Returns the enumerator that is spelled `name`, or nullopt.
template <typename Enum> std::optional<Enum> parseName(std::string_view name) {
  std::span<const std::string_view> names = namesOf<Enum>();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return Enum(i);
  return std::nullopt;
}

/// Returns the size of one element in bytes.
size_t sizeOf(ElementType type);
size_t sizeOf(CaptureElement type);

constexpr size_t runValueCount = 0
#define FMHA_RUN_VALUE(enumerator, name) +1
#include "fmha/Runtime/Launch/Names.def"
    ;
constexpr size_t tensorCount = 0
#define FMHA_TENSOR(enumerator, name) +1
#include "fmha/Runtime/Launch/Names.def"
    ;

struct RunValues {
  std::array<uint64_t, runValueCount> values = {};
  uint64_t &operator[](RunValue value) { return values[size_t(value)]; }
  uint64_t operator[](RunValue value) const { return values[size_t(value)]; }
};

/// Returns the enumerator `places` after `value`: the strides of a tensor are
/// consecutive.
constexpr RunValue after(RunValue value, int places) {
  return RunValue(int(value) + places);
}

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_NAMES_H
