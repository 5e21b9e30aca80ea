//===- AppendManifest.cpp - The launch of the kernel of fmha.append -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeManifest.h"
#include "fmha/Pipeline/Manifest.h"
#include "fmha/Version.h"

#include "llvm/Support/FormatVariadic.h"

using namespace fmha;
namespace json = llvm::json;

static json::Object appendLaunch(const AppendProblem &problem,
                                 const std::string &target,
                                 const std::string &kernel) {
  json::Array heads{json::Object{
      {"ceil_div", json::Array{"append_heads", appendHeadsPerCta(problem)}}}};
  return json::Object{
      {"kernel", kernel},
      {"grid", json::Object{{"x", json::Array{"append_rows", "batch"}},
                            {"y", std::move(heads)},
                            {"z", json::Array{}}}},
      {"block", json::Array{appendThreads, 1, 1}},
      {"programmatic", hasGridDependencies(target)},
      {"parameters", parametersOf(appendParameters(problem))}};
}

std::string fmha::appendManifest(const AppendProblem &problem,
                                 const std::string &target,
                                 const std::string &kernel,
                                 const std::string &id) {
  json::Object manifest = appendLaunch(problem, target, kernel);
  manifest["schema_version"] = 1;
  manifest["append"] = true;
  manifest["target"] = target;
  manifest["id"] = id;
  manifest["dtype"] = problem.dtype;
  manifest["head_dim"] = problem.headDim;
  manifest["head_dim_v"] = problem.headDimV;
  if (problem.pageSize)
    manifest["page_size"] = problem.pageSize;
  if (problem.hasRotary()) {
    manifest["rotary"] = problem.rotary;
    manifest["rotary_dim"] = problem.rotaryDim;
    manifest["query"] = problem.query;
  }
  return llvm::formatv("{0:2}", json::Value(std::move(manifest))).str();
}

std::string fmha::appendHeading(const AppendProblem &problem,
                                const std::string &target) {
  return llvm::formatv("// fmha " FMHA_VERSION ", target {0}\n"
                       "// appends {1} keys of head_dim {2} and values of "
                       "head_dim {3}\n",
                       target, problem.dtype, problem.headDim, problem.headDimV)
      .str();
}
