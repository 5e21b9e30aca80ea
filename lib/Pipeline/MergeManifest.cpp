//===- MergeManifest.cpp - The launch of the merge kernel -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeManifest.h"
#include "fmha/Pipeline/Manifest.h"
#include "fmha/Target/Target.h"
#include "fmha/Version.h"

#include "llvm/Support/FormatVariadic.h"

using namespace fmha;
namespace json = llvm::json;

static json::Value parameterOf(const KernelParameter &parameter) {
  using Kind = KernelParameter::Kind;
  if (parameter.kind == Kind::Pointer)
    return json::Object{{"name", parameter.name},
                        {"kind", "pointer"},
                        {"tensor", parameter.name}};
  return json::Object{{"name", parameter.name},
                      {"kind", parameter.kind == Kind::U64 ? "u64" : "u32"},
                      {"value", parameter.name}};
}

json::Array fmha::parametersOf(const std::vector<KernelParameter> &parameters) {
  json::Array all;
  for (const KernelParameter &parameter : parameters)
    all.push_back(parameterOf(parameter));
  return all;
}

bool fmha::hasGridDependencies(const std::string &target) {
  const target::Target *gpu = target::findTarget(target);
  return !gpu || gpu->hasGridDependencies;
}

json::Object fmha::mergeLaunch(const MergeProblem &problem,
                               const std::string &target,
                               const std::string &kernel) {
  json::Array factors{
      json::Object{
          {"ceil_div", json::Array{"q_len", mergeRowsPerCta(problem.headDim)}}},
      "q_heads"};
  // With packed sequences the batch is 1.
  if (!problem.cuSeqlensQ)
    factors.push_back("batch");
  return json::Object{{"kernel", kernel},
                      {"grid", json::Object{{"x", std::move(factors)},
                                            {"y", json::Array{}},
                                            {"z", json::Array{}}}},
                      {"block", json::Array{mergeThreads, 1, 1}},
                      {"programmatic", hasGridDependencies(target)},
                      {"parameters", parametersOf(mergeParameters(problem))}};
}

std::string fmha::mergeManifest(const MergeProblem &problem,
                                const std::string &target,
                                const std::string &kernel,
                                const std::string &id) {
  json::Object manifest = mergeLaunch(problem, target, kernel);
  manifest["schema_version"] = 1;
  manifest["target"] = target;
  manifest["id"] = id;
  manifest["head_dim_v"] = problem.headDim;
  manifest["out_dtype"] = problem.output;
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.ofMerge)
      manifest[fact.name] = problem.*fact.there;
  return llvm::formatv("{0:2}", json::Value(std::move(manifest))).str();
}

std::string fmha::mergeHeading(const MergeProblem &problem,
                               const std::string &target) {
  return llvm::formatv("// fmha " FMHA_VERSION ", target {0}\n"
                       "// merges parts of head_dim {1} into {2}\n",
                       target, problem.headDim, problem.output)
      .str();
}
