//===- VerdictsTest.cpp - Which forms are taken, against ptxas ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables are verdicts of ptxas 13.0 (test/tools/ptx-sim/Inputs/forms.py
// writes them, and a test where ptxas is at hand holds them). The simulator
// takes a form exactly where ptxas does. Each can be reached, but does not
// execute.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace ptxsim;

namespace {

std::string contents(const std::string &name) {
  std::ifstream file(FMHA_TEST_DATA "/forms/" + name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string &mark,
                     const std::string &by) {
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += by.size())
    text.replace(at, mark.size(), by);
  return text;
}

/// A table: names of columns, and rows of ".+?" and an instruction.
struct Table {
  explicit Table(const std::string &name) {
    std::istringstream lines(contents(name));
    std::string line, word;
    std::getline(lines, line);
    std::istringstream head(line.substr(1));
    while (head >> word)
      columns.push_back(word);
    while (std::getline(lines, line))
      rows.push_back(
          {line.substr(0, columns.size()), line.substr(columns.size() + 1)});
  }
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::string>> rows;
};

/// Why the simulator refuses the form, empty where it takes it.
std::string refusal(const std::string &form, const std::string &target) {
  static const std::string kModule = contents("module.ptx");
  std::string text = replaced(kModule, "TARGET", "sm_" + target);
  try {
    Module module = Module::parse(replaced(text, "FORM", form), "form.ptx");
    Device device;
    LaunchConfig config;
    config.entry = "k";
    Options options;
    options.threads = 1;
    launch(device, module, config, options);
    return "";
  } catch (const Error &error) {
    EXPECT_GT(error.line, 0u) << error.what();
    return error.what();
  }
}

TEST(Verdicts, FormsAreTakenOnTheTargetsThatHaveThem) {
  Table table("verdicts.txt");
  ASSERT_EQ(table.columns.size(), 14u);
  ASSERT_GT(table.rows.size(), 1000u);
  for (const auto &[verdicts, form] : table.rows)
    for (size_t i = 0; i < table.columns.size(); ++i) {
      std::string why = refusal(form, table.columns[i]);
      EXPECT_EQ(why.empty(), verdicts[i] == '+')
          << form << " on sm_" << table.columns[i] << ": " << why;
      // What one target takes another refuses for no other reason.
      if (!why.empty() && verdicts.find('+') != verdicts.npos) {
        EXPECT_NE(why.find("expected .target sm_"), why.npos) << form << why;
      }
    }
}

TEST(Verdicts, RegistersSuitTheTypesOfTheirOperands) {
  Table table("registers.txt");
  ASSERT_EQ(table.columns.size(), 17u);
  ASSERT_GT(table.rows.size(), 200u);
  for (const auto &[verdicts, hole] : table.rows)
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (verdicts[i] == '?')
        continue;
      std::string form = replaced(hole, "AS", "as_" + table.columns[i]);
      std::string why = refusal(form, "100a");
      EXPECT_EQ(why.empty(), verdicts[i] == '+') << form << ": " << why;
    }
}

TEST(Verdicts, RefusalsSayWhatWouldDo) {
  EXPECT_NE(
      refusal("ld.global.u64 %r1, [%q1];", "100a")
          .find("expected a register of 64 or more bits, got '%r1' of 32"),
      std::string::npos);
  EXPECT_NE(refusal("add.u32 as_f32, %r1, %r2;", "100a")
                .find("expected a register of .b32, .u32 or .s32, got "
                      "'as_f32', which is a float of 32 bits; mov.b32 copies"),
            std::string::npos);
  EXPECT_NE(refusal("add.u32 %r1, %r2, %tid.x;", "100a").find("put a mov in"),
            std::string::npos);
  EXPECT_NE(refusal("max.f32 %f1, %f2, %f3, %f4;", "90")
                .find("expected .target sm_100 or higher, got sm_90"),
            std::string::npos);
  // Absurd operands are refused, too.
  for (const char *form :
       {"mov.b32 %r1, {};", "mov.b64 %q1, {%r1, %r2, %r3};",
        "ld.global.v2.b32 {}, [%q1];", "st.v4.b32 [%q1], {%r1|%p1};",
        "shfl.sync.idx.b32 %r1|_, %r2|%r3, 1, 31, -1;", "mov.b64 {}, {};",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {}, [%r1];",
        "cp.async.bulk.commit_group %r1;", "@%r1 add.u32 %r1, %r1, 1;"})
    EXPECT_NE(refusal(form, "100a"), "") << form;
}

} // namespace
