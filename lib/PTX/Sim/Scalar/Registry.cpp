//===- Registry.cpp - The table of scalar forms ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Registry.h"
#include "Families.h"

#include <algorithm>
#include <span>
#include <vector>

namespace ptxsim::scalar {
namespace {

struct TypeFacts {
  std::string_view name;
  unsigned bits;
};

// In the order of enum Type.
constexpr TypeFacts typeFacts[] = {
    {"", 0},         {"pred", 1},    {"b8", 8},      {"b16", 16},
    {"b32", 32},     {"b64", 64},    {"b128", 128},  {"u8", 8},
    {"u16", 16},     {"u32", 32},    {"u64", 64},    {"s8", 8},
    {"s16", 16},     {"s32", 32},    {"s64", 64},    {"f16", 16},
    {"bf16", 16},    {"f32", 32},    {"f64", 64},    {"f16x2", 32},
    {"bf16x2", 32},  {"f32x2", 64},  {"tf32", 32},   {"e4m3x2", 16},
    {"e5m2x2", 16},  {"e2m3x2", 16}, {"e3m2x2", 16}, {"e2m1x2", 8},
    {"ue8m0x2", 16},
};

bool isTypeName(std::string_view word) {
  return std::any_of(std::begin(typeFacts) + 1, std::end(typeFacts),
                     [&](const TypeFacts &t) { return t.name == word; });
}

std::vector<std::string_view> split(std::string_view opcode) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t dot; (dot = opcode.find('.', begin)) != std::string_view::npos;
       begin = dot + 1)
    words.push_back(opcode.substr(begin, dot - begin));
  words.push_back(opcode.substr(begin));
  return words;
}

/// Returns the instruction, its sorted qualifiers, and its types in their
/// order.
std::string sortedKey(std::string_view opcode) {
  std::vector<std::string_view> words = split(opcode), qualifiers;
  std::string types;
  for (std::string_view word : std::span(words).subspan(1))
    if (isTypeName(word))
      types.append(".").append(word);
    else
      qualifiers.push_back(word);
  std::sort(qualifiers.begin(), qualifiers.end());
  std::string key(words[0]);
  for (std::string_view word : qualifiers)
    key.append(".").append(word);
  return key + types;
}

Registry makeRegistry() {
  Registry registry;
#ifdef PTX_SCALAR_HAVE_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    avx2::registerFamilies(registry);
    return registry;
  }
#endif
  portable::registerFamilies(registry);
  return registry;
}

} // namespace

void Registry::add(const std::string &opcode, const Form &form) {
  exact.emplace(opcode, form);
  sorted.emplace(sortedKey(opcode), form);
}

const Form *Registry::find(std::string_view opcode) const {
  if (auto it = exact.find(opcode); it != exact.end())
    return &it->second;
  auto it = sorted.find(sortedKey(opcode));
  return it == sorted.end() ? nullptr : &it->second;
}

std::string_view nameOf(Type type) {
  return typeFacts[static_cast<unsigned>(type)].name;
}

std::string joinWords(std::initializer_list<std::string_view> words) {
  std::string result;
  for (std::string_view word : words) {
    if (word.empty())
      continue;
    if (!result.empty())
      result.push_back('.');
    result.append(word);
  }
  return result;
}

Form makeForm(Function function, std::initializer_list<Type> dst,
              std::initializer_list<Type> src) {
  Form form;
  form.function = function;
  form.numDst = static_cast<uint8_t>(dst.size());
  form.numSrc = static_cast<uint8_t>(src.size());
  std::copy(dst.begin(), dst.end(), form.dst.begin());
  std::copy(src.begin(), src.end(), form.src.begin());
  return form;
}

unsigned bitWidth(Type type) {
  return typeFacts[static_cast<unsigned>(type)].bits;
}

const Form *find(std::string_view opcode) {
  static const Registry registry = makeRegistry();
  return registry.find(opcode);
}

} // namespace ptxsim::scalar
