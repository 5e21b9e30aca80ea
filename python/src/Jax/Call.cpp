//===- Call.cpp - A custom call of XLA ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace fmha::jax {
namespace {

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

/// Rejects structures that are shorter than those of Abi.h.
void checkSize(const char *what, size_t least, size_t got) {
  if (got < least)
    throw std::runtime_error(
        std::string("XLA: expected ") + what + " of at least " +
        std::to_string(least) + " bytes, got " + std::to_string(got) +
        "; install a version of jax that docs/install.md lists");
}

void checkVersion(const abi::CallFrame &frame) {
  checkSize("call frames", offsetof(abi::CallFrame, future), frame.structBytes);
  checkSize("arguments", sizeof(abi::Operands), frame.arguments.structBytes);
  checkSize("results", sizeof(abi::Operands), frame.results.structBytes);
  checkSize("attributes", sizeof(abi::Attributes),
            frame.attributes.structBytes);
  checkSize("a table of functions", offsetof(abi::Api, registerType),
            frame.api->structBytes);
  const abi::Version &version = frame.api->version;
  if (version.major != abi::majorVersion)
    throw std::runtime_error(
        "XLA: expected version " + std::to_string(abi::majorVersion) +
        " of its FFI, got " + std::to_string(version.major) + "." +
        std::to_string(version.minor) +
        "; install a version of jax that docs/install.md lists");
  if (frame.stage != abi::executeStage)
    throw std::runtime_error(
        "XLA: expected the stage of execution, got " +
        std::to_string(frame.stage) +
        "; install a version of jax that docs/install.md lists");
}

/// Answers with the version of XLA if it is one of Abi.h, else with the nearest
/// of these, which XLA may accept.
bool answersMetadata(const abi::CallFrame &frame) {
  abi::Extension *extension = frame.extensions;
  if (!extension || extension->type != abi::metadataExtension)
    return false;
  abi::Metadata &metadata =
      *reinterpret_cast<abi::MetadataExtension *>(extension)->metadata;
  int minor = frame.api ? frame.api->version.minor : int(abi::lastMinorVersion);
  minor = std::clamp(minor, abi::firstMinorVersion, abi::lastMinorVersion);
  metadata.version = {sizeof(abi::Version), nullptr, abi::majorVersion, minor};
  metadata.traits = 0;
  return true;
}

abi::Error *createError(const abi::Api *api, const char *message,
                        abi::ErrorCode code) {
  abi::ErrorRequest request = {sizeof(request), nullptr, message, code};
  return api->createError(&request);
}

} // namespace

Call::Call(const abi::CallFrame &frame) : frame(frame) {
  checkVersion(frame);
  read(frame.arguments, attribute("inputs"));
  read(frame.results, attribute("outputs"));
}

std::string_view Call::attribute(std::string_view name) const {
  const abi::Attributes &all = frame.attributes;
  for (int64_t i = 0; i < all.count; ++i)
    if (std::string_view(all.names[i]->data, all.names[i]->bytes) == name &&
        all.types[i] == abi::stringAttribute) {
      auto *text = static_cast<const abi::Text *>(all.values[i]);
      return {text->data, text->bytes};
    }
  throw std::invalid_argument("expected a string as the attribute " +
                              quoted(name) +
                              " of the call, got none; call fmha.jax");
}

void Call::read(const abi::Operands &operands, std::string_view names) {
  for (int64_t i = 0; i < operands.count; ++i) {
    size_t end = std::min(names.find(' '), names.size());
    auto *buffer = static_cast<const abi::Buffer *>(operands.values[i]);
    if (!end || operands.types[i] != abi::bufferArgument)
      throw std::invalid_argument(
          "expected buffers with a name for each, got others; call fmha.jax");
    checkSize("buffers", sizeof(abi::Buffer), buffer->structBytes);
    buffers.push_back({names.substr(0, end), buffer});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

const abi::Buffer *Call::find(std::string_view name) const {
  auto found = std::ranges::find(buffers, name, &Named::name);
  return found == buffers.end() ? nullptr : found->buffer;
}

const abi::Buffer &Call::buffer(std::string_view name) const {
  if (const abi::Buffer *found = find(name))
    return *found;
  throw std::invalid_argument("expected a buffer " + quoted(name) +
                              " in the call, got none");
}

void Call::check(abi::Error *error, const char *what) const {
  // Errors are rare and end the program: this one is not freed.
  if (error)
    throw std::runtime_error(std::string("XLA: expected ") + what +
                             ", got an error");
}

void *Call::stream() const {
  abi::StreamRequest request = {sizeof(request), nullptr, frame.context,
                                nullptr};
  check(frame.api->getStream(&request), "the stream of a call");
  return request.stream;
}

int Call::device() const {
  if (frame.api->structBytes < sizeof(abi::Api))
    return 0;
  abi::OrdinalRequest request = {sizeof(request), nullptr, frame.context, 0};
  check(frame.api->getOrdinal(&request), "the device of a call");
  return request.ordinal;
}

abi::Error *answer(abi::CallFrame *frame, void (*run)(const Call &)) noexcept {
  if (answersMetadata(*frame))
    return nullptr;
  try {
    run(Call(*frame));
    return nullptr;
  } catch (const std::invalid_argument &error) {
    return createError(frame->api, error.what(), abi::InvalidArgument);
  } catch (const std::bad_alloc &) {
    return createError(frame->api, "out of memory", abi::ResourceExhausted);
  } catch (const std::exception &error) {
    return createError(frame->api, error.what(), abi::Internal);
  }
}

} // namespace fmha::jax
