//===- Difference.cpp - Differences between two runs of a launch ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Difference.h"

#include "fmha/PTX/Host/Report.h"

#include <algorithm>
#include <span>

namespace ptxsim::tool {
namespace {

std::string list(const std::vector<Finding> &findings) {
  std::vector<std::string> lines;
  for (const Finding &finding : findings)
    lines.push_back(finding.id + " at line " + std::to_string(finding.ptxLine));
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : ", ") + line;
  return text.empty() ? "none" : text;
}

/// Returns true if every thread reached its end, so that the outputs are valid.
bool ended(const LaunchResult &result) {
  bool ran = result.status == Status::Ok || result.status == Status::Findings;
  return ran && !result.faulted;
}

/// Returns "[3, 17]" for the linear index of an element of an array, the last
/// dimension varying fastest. An output without dimensions has one element.
std::string placeOf(uint64_t element, const std::vector<uint64_t> &shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    text =
        std::to_string(element % shape[i]) + (text.empty() ? "" : ", ") + text;
    element /= shape[i];
  }
  return "[" + text + "]";
}

using Bytes = std::vector<uint8_t>;

ElementDifference describe(const Arguments &arguments, size_t number,
                           const Bytes &a, const Bytes &b) {
  const Argument &argument = arguments.list[number];
  uint64_t count = 1;
  for (uint64_t extent : argument.array.shape)
    count *= extent;
  uint64_t size = a.size() / count, first = count;
  ElementDifference result;
  result.output = argument.outputPath;
  result.elements = count;
  auto element = [&](const Bytes &bytes, uint64_t i) {
    return std::span(bytes).subspan(size_t(i * size), size_t(size));
  };
  for (uint64_t i = 0; i < count; ++i) {
    if (std::ranges::equal(element(a, i), element(b, i)))
      continue;
    first = std::min(first, i);
    ++result.differing;
  }
  const ElementType *type =
      argument.type ? argument.type : findNpyType(argument.array.dtype);
  result.place = placeOf(first, argument.array.shape);
  result.first = valueText(type, element(a, first));
  result.second = valueText(type, element(b, first));
  // Equal texts, for example of two NaNs: show the bits.
  if (result.first == result.second) {
    result.first = valueText(nullptr, element(a, first));
    result.second = valueText(nullptr, element(b, first));
  }
  return result;
}

std::optional<ElementDifference> firstElement(const Arguments &arguments,
                                              const Outcome &first,
                                              const Outcome &second) {
  size_t output = 0;
  for (size_t i = 0; i < arguments.list.size(); ++i) {
    if (!arguments.list[i].isOutput())
      continue;
    const Bytes &a = first.outputs[output], &b = second.outputs[output];
    ++output;
    if (a != b)
      return describe(arguments, i, a, b);
  }
  return std::nullopt;
}

} // namespace

std::optional<Difference> difference(const Arguments &arguments,
                                     const Outcome &first,
                                     const Outcome &second) {
  Difference result;
  auto add = [&result](const std::string &part) {
    result.what += (result.what.empty() ? "" : "; ") + part;
  };
  Status before = first.result.status, after = second.result.status;
  bool bothEnded = ended(first.result) && ended(second.result);
  // If both runs ended, the findings are more informative than the status.
  if (before != after && !bothEnded)
    add(std::string("status ") + nameOf(after) + ", was " + nameOf(before));
  std::string known = list(first.result.findings);
  std::string found = list(second.result.findings);
  if (known != found)
    add("findings " + found + ", were " + known);
  if (bothEnded)
    result.element = firstElement(arguments, first, second);
  if (const auto &element = result.element)
    add(element->output + " differs in " + std::to_string(element->differing) +
        " of " + std::to_string(element->elements) + " elements from " +
        element->place + " on");
  if (result.what.empty())
    return std::nullopt;
  return result;
}

} // namespace ptxsim::tool
