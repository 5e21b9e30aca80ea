//===- Replay.cpp - Launch what silicon was seen to do ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include <zlib.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

using namespace ptxsim;
using namespace ptxsim::test;
using nlohmann::json;

std::string ptxsim::test::readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string ptxsim::test::describe(const LaunchResult &result) {
  std::string text = "status " + std::to_string(int(result.status));
  for (const Finding &finding : result.findings)
    text += "\n" + finding.id + " line " + std::to_string(finding.ptxLine) +
            " warp " + std::to_string(finding.warp) + " lane " +
            std::to_string(finding.lane) + ": " + finding.message + " [" +
            finding.other + "]";
  return text;
}

unsigned ptxsim::test::elementBytes(const std::string &dtype) {
  if (dtype == "f16x2" || dtype == "bf16x2" || dtype == "tf32")
    return 4;
  std::string digits;
  for (char c : dtype)
    if (c >= '0' && c <= '9')
      digits += c;
  unsigned bits = unsigned(std::stoul(digits));
  // bf16 and b16 alike end in their width.
  return bits / 8;
}

std::string ptxsim::test::firstDifference(const Bytes &got,
                                          const Bytes &expected,
                                          unsigned element) {
  if (got.size() != expected.size())
    return "expected " + std::to_string(expected.size()) + " bytes, got " +
           std::to_string(got.size());
  size_t count = 0, first = 0;
  for (size_t i = 0; i < got.size(); i += element)
    if (std::memcmp(&got[i], &expected[i], element) && !count++)
      first = i;
  if (!count)
    return "";
  uint64_t a = 0, b = 0;
  std::memcpy(&a, &got[first], element);
  std::memcpy(&b, &expected[first], element);
  std::stringstream text;
  text << count << " elements differ, first " << first / element << std::hex
       << ": expected 0x" << b << ", got 0x" << a;
  return text.str();
}

const ReplayResult::Output &
ReplayResult::output(const std::string &name) const {
  for (const Output &output : outputs)
    if (output.name == name)
      return output;
  throw std::runtime_error("no output " + name);
}

Recording::Recording(const std::string &folder) : folder(folder) {
  index = json::parse(readFile(folder + "/index.json"));
}

std::vector<const json *> Recording::family(const std::string &name) const {
  std::vector<const json *> found;
  for (const json &entry : index.at("entries"))
    if (entry.at("family") == name && !entry.contains("error") &&
        entry.contains("launch"))
      found.push_back(&entry);
  return found;
}

const json &Recording::entry(const std::string &family,
                             const std::string &name) const {
  for (const json &entry : index.at("entries"))
    if (entry.at("family") == family && entry.at("name") == name)
      return entry;
  throw std::runtime_error("no entry " + family + " " + name);
}

/// A file whose name ends in .z is one zlib stream of `size` bytes.
static Bytes unpack(const std::string &packed, uLongf size) {
  Bytes bytes(size);
  int status = uncompress(bytes.data(), &size,
                          reinterpret_cast<const Bytef *>(packed.data()),
                          static_cast<uLong>(packed.size()));
  if (status != Z_OK || size != bytes.size())
    throw std::runtime_error("a stream does not unpack to its size");
  return bytes;
}

const Bytes &Recording::file(const std::string &name) {
  auto [found, fresh] = files.try_emplace(name);
  if (fresh) {
    std::string text = readFile(folder + "/" + name);
    if (name.ends_with(".z"))
      found->second = unpack(text, index.at("meta").at("bytes").at(name));
    else
      found->second.assign(text.begin(), text.end());
  }
  return found->second;
}

const Module &Recording::module(const std::string &name) {
  auto found = modules.find(name);
  if (found == modules.end())
    found = modules
                .emplace(name,
                         Module::parse(readFile(folder + "/ptx/" + name), name))
                .first;
  return found->second;
}

Bytes Recording::slice(const json &entry, const json &array,
                       const char *offset) {
  uint64_t bytes = elementBytes(array.at("dtype"));
  for (uint64_t extent : array.at("shape"))
    bytes *= extent;
  const Bytes &all = file(entry.at("file"));
  uint64_t begin = array.at(offset);
  if (begin + bytes > all.size())
    throw std::runtime_error("array outside its file");
  return Bytes(all.begin() + ptrdiff_t(begin),
               all.begin() + ptrdiff_t(begin + bytes));
}

static Dim3 readDim(const json &value) {
  if (value.is_number())
    return {value.get<uint32_t>(), 1, 1};
  Dim3 dim;
  dim.x = value.at(0);
  dim.y = value.size() > 1 ? value.at(1).get<uint32_t>() : 1;
  dim.z = value.size() > 2 ? value.at(2).get<uint32_t>() : 1;
  return dim;
}

template <typename T> static Bytes bytesOf(T value) {
  Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

uint64_t Recording::place(Device &device, const json &entry, const json &array,
                          const char *offset) {
  Bytes bytes = slice(entry, array, "offset");
  if (offset && array.contains(offset))
    bytes = slice(entry, array, offset);
  else if (offset)
    bytes.assign(bytes.size(), 0xCD);
  uint64_t at = device.allocate(std::max<size_t>(bytes.size(), 1));
  device.write(at, std::as_bytes(std::span(bytes)));
  return at;
}

LaunchConfig Recording::configure(const json &launch,
                                  const Addresses &addresses) {
  LaunchConfig config;
  config.entry = launch.at("entry");
  config.grid = readDim(launch.at("grid"));
  config.block = readDim(launch.at("block"));
  config.dynamicSharedBytes = launch.value("smem", 0u);
  for (const std::string name : launch.at("args"))
    config.parameters.push_back(bytesOf(addresses.at(name)));
  for (const json &scalar : launch.value("scalars", json::array()))
    config.parameters.push_back(bytesOf(scalar.is_number_unsigned()
                                            ? uint32_t(scalar.get<uint64_t>())
                                            : uint32_t(scalar.get<int64_t>())));
  return config;
}

/// "tensor/map" names an input, "tensor/out" an output.
static Bytes encodeMap(const json &map, const EncodeMap &encode,
                       const std::map<std::string, uint64_t> &inputs,
                       const std::map<std::string, uint64_t> &outputs) {
  if (!encode)
    throw std::runtime_error("the entry needs a tensor map");
  std::string tensor = map.value("tensor", "");
  bool isOutput = tensor.find("/out") != std::string::npos;
  std::string name = tensor.substr(0, tensor.find('/'));
  return encode(map, (isOutput ? outputs : inputs).at(name) +
                         map.value("byte_offset", uint64_t(0)));
}

ReplayResult Recording::replay(const json &entry, const Options &options,
                               const EncodeMap &encode) {
  Device device;
  Addresses inputs, outputs;
  for (const json &array : entry.at("inputs"))
    inputs[array.at("name")] = place(device, entry, array, nullptr);
  for (const json &array : entry.at("outputs"))
    outputs[array.at("name")] = place(device, entry, array, "init_offset");
  Addresses addresses = outputs; // An array of both kinds is the output's.
  addresses.insert(inputs.begin(), inputs.end());
  const json &launch = entry.at("launch");
  LaunchConfig config = configure(launch, addresses);
  if (entry.contains("tensormap"))
    config.parameters.push_back(
        encodeMap(entry.at("tensormap"), encode, inputs, outputs));
  ReplayResult result;
  result.launch =
      ptxsim::launch(device, module(launch.at("module")), config, options);
  for (const json &array : entry.at("outputs")) {
    ReplayResult::Output output;
    output.name = array.at("name");
    output.dtype = array.at("dtype");
    output.shape = array.at("shape").get<std::vector<uint64_t>>();
    output.expected = slice(entry, array, "offset");
    output.got.resize(output.expected.size());
    device.read(outputs.at(output.name),
                std::as_writable_bytes(std::span(output.got)));
    result.outputs.push_back(std::move(output));
  }
  return result;
}
