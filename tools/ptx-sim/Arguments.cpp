//===- Arguments.cpp - Kernel arguments given on the command line ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "fmha/PTX/Host/OptionText.h"

#include <cctype>
#include <set>

namespace ptxsim::tool {
namespace {

using Kind = Argument::Kind;

constexpr uint64_t largestBuffer = uint64_t(1) << 40;

[[noreturn]] void reject(const Argument &argument, const std::string &why) {
  throw BadInput("--arg=" + argument.text + ": " + why);
}

void parseIn(Argument &a, const std::string &rest) {
  a.kind = Kind::In;
  a.array = readNpy(rest);
  a.bytes = a.array.bytes.size();
}

void parseInOut(Argument &a, const std::string &rest) {
  size_t colon = rest.rfind(':');
  if (colon == rest.npos || colon == 0 || colon + 1 == rest.size())
    reject(a, "expected inout:BEFORE.npy:AFTER.npy");
  parseIn(a, rest.substr(0, colon));
  a.kind = Kind::InOut;
  a.outputPath = rest.substr(colon + 1);
}

std::vector<uint64_t> parseShape(const Argument &a, std::string_view text) {
  std::vector<uint64_t> shape;
  for (;;) {
    size_t x = text.find('x');
    auto extent = parseUnsigned(text.substr(0, x));
    if (!extent)
      reject(a, "expected a shape like 4x8 after the type");
    shape.push_back(*extent);
    if (x == text.npos)
      return shape;
    text.remove_prefix(x + 1);
  }
}

void parseOut(Argument &a, const std::string &rest) {
  size_t last = rest.rfind(':');
  size_t middle =
      last == rest.npos || !last ? rest.npos : rest.rfind(':', last - 1);
  if (middle == rest.npos || middle == 0)
    reject(a, "expected out:FILE.npy:TYPE:SHAPE, for example "
              "out:o.npy:f16:4x8");
  a.kind = Kind::Out;
  a.outputPath = rest.substr(0, middle);
  std::string type = rest.substr(middle + 1, last - middle - 1);
  a.type = findType(type);
  if (!a.type)
    reject(a, "unknown type '" + type + "', expected one of " + typeNames());
  a.array.dtype = a.type->npy;
  a.array.shape = parseShape(a, std::string_view(rest).substr(last + 1));
  a.bytes = a.type->bytes;
  for (uint64_t extent : a.array.shape) {
    if (extent && a.bytes > largestBuffer / extent)
      reject(a, "the buffer is larger than 2^40 bytes");
    a.bytes *= extent;
  }
}

void parseZero(Argument &a, const std::string &rest) {
  auto bytes = parseUnsigned(rest);
  if (!bytes || *bytes > largestBuffer)
    reject(a, "expected zero:BYTES, at most 2^40");
  a.kind = Kind::Zero;
  a.bytes = *bytes;
}

void parseBytes(Argument &a, const std::string &rest) {
  auto digit = [](char c) {
    static const std::string digits = "0123456789abcdef";
    return digits.find(char(std::tolower(static_cast<unsigned char>(c))));
  };
  if (rest.empty() || rest.size() % 2)
    reject(a, "expected bytes:HEX with two digits per byte");
  for (size_t i = 0; i < rest.size(); i += 2) {
    size_t high = digit(rest[i]), low = digit(rest[i + 1]);
    if (high == std::string::npos || low == std::string::npos)
      reject(a, "'" + rest.substr(i, 2) + "' is no hexadecimal byte");
    a.value.push_back(uint8_t(high << 4 | low));
  }
}

void parseMap(Argument &a, const std::string &rest) {
  a.kind = Kind::Map;
  a.map = readMapFile(rest);
  a.mapPath = rest;
}

struct Form {
  const char *name;
  void (*parse)(Argument &, const std::string &);
};
constexpr Form forms[] = {{"in", parseIn},       {"out", parseOut},
                          {"inout", parseInOut}, {"zero", parseZero},
                          {"bytes", parseBytes}, {"tmap", parseMap}};

constexpr uint32_t pointerBytes = 8, mapBytes = 128;

uint32_t sizeOf(const Argument &argument) {
  if (argument.kind == Kind::Value)
    return uint32_t(argument.value.size());
  return argument.kind == Kind::Map ? mapBytes : pointerBytes;
}

/// Returns the numbers of the buffers that tensor maps name. A map may only
/// name an earlier buffer.
std::set<unsigned> mappedBuffers(const std::vector<Argument> &list) {
  std::set<unsigned> mapped;
  unsigned buffers = 0;
  for (const Argument &argument : list) {
    buffers += argument.isBuffer();
    if (argument.kind != Kind::Map)
      continue;
    if (argument.map->tensor >= buffers)
      reject(argument, "'tensor' is " + std::to_string(argument.map->tensor) +
                           ", but " + std::to_string(buffers) +
                           " buffers (in, out, inout, zero) come before it");
    mapped.insert(argument.map->tensor);
  }
  return mapped;
}

std::string describe(const Module::Entry &entry) {
  std::string text;
  for (const Module::Parameter &parameter : entry.parameters)
    text += (text.empty() ? "" : ", ") + parameter.name + " (" +
            std::to_string(parameter.size) + " bytes)";
  return text.empty() ? "none" : text;
}

/// Returns the parameter of each argument, or -1.
std::vector<int> match(const std::vector<Argument> &list,
                       const Module::Entry &entry) {
  std::set<unsigned> mapped = mappedBuffers(list);
  bool drop = list.size() > entry.parameters.size();
  std::vector<int> parameter;
  unsigned buffer = 0;
  int next = 0;
  for (const Argument &argument : list) {
    bool mappedOnly = argument.isBuffer() && drop && mapped.count(buffer);
    buffer += argument.isBuffer();
    parameter.push_back(mappedOnly ? -1 : next++);
  }
  if (size_t(next) != entry.parameters.size())
    throw BadInput(
        "entry '" + entry.name + "' has " +
        std::to_string(entry.parameters.size()) + " parameters, got " +
        std::to_string(next) +
        " arguments; give one --arg each, in order: " + describe(entry));
  return parameter;
}

} // namespace

Argument parseArgument(const std::string &text) {
  Argument argument;
  argument.text = text;
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  std::string rest = colon == text.npos ? "" : text.substr(colon + 1);
  for (const Form &form : forms) {
    if (name != form.name)
      continue;
    if (rest.empty())
      reject(argument, "nothing follows the colon");
    form.parse(argument, rest);
    return argument;
  }
  const ElementType *type = findType(name);
  if (!type)
    reject(argument, "unknown kind '" + name +
                         "', expected in, out, inout, zero, bytes, tmap or a "
                         "type: " +
                         typeNames());
  argument.value = parseValue(*type, rest);
  return argument;
}

Arguments readArguments(const std::vector<std::string> &texts,
                        const Module::Entry &entry) {
  Arguments result;
  for (const std::string &text : texts)
    result.list.push_back(parseArgument(text));
  result.parameter = match(result.list, entry);
  for (size_t i = 0; i < result.list.size(); ++i) {
    if (result.parameter[i] < 0)
      continue;
    const Module::Parameter &parameter =
        entry.parameters[size_t(result.parameter[i])];
    uint32_t size = sizeOf(result.list[i]);
    if (size != parameter.size)
      reject(result.list[i],
             "gives " + std::to_string(size) + " bytes, but parameter " +
                 parameter.name + " has " + std::to_string(parameter.size) +
                 (parameter.size > 8 ? "; a structure is given as bytes:HEX"
                                     : ""));
  }
  return result;
}

} // namespace ptxsim::tool
