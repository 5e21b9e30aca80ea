//===- SiliconCoverage.h - Which test replays what was recorded -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of test/data/silicon/README.md says how many recorded entries each
// test replays. The tests ask it here, so that neither a test nor the table can
// lose an entry alone.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_CORE_SILICONCOVERAGE_H
#define FMHA_TEST_PTX_SIM_CORE_SILICONCOVERAGE_H

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptxsim::test {

/// Cells of a line "| a | b |", without blanks and backquotes.
inline std::vector<std::string> tableCells(const std::string &line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  std::string cell;
  std::getline(stream, cell, '|');
  while (std::getline(stream, cell, '|')) {
    std::erase(cell, '`');
    size_t begin = cell.find_first_not_of(' ');
    size_t end = cell.find_last_not_of(' ');
    cells.push_back(
        begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

/// Entries that the table gives to `test` ("Suite.Name"), of one family if one
/// is named.
inline unsigned entriesOf(const std::string &test,
                          const std::string &family = "") {
  const std::string path = FMHA_TEST_DATA "/silicon/README.md";
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  unsigned entries = 0;
  std::string line;
  while (std::getline(file, line)) {
    // Family, names, outcome, entries, tests, compared.
    std::vector<std::string> cells = tableCells(line);
    if (cells.size() < 6 || (!family.empty() && cells[0] != family))
      continue;
    std::string tests = ", " + cells[4] + ",";
    if (tests.find(" " + test + ",") != std::string::npos)
      entries += unsigned(std::stoul(cells[3]));
  }
  if (!entries)
    throw std::runtime_error(path + " gives no entry to " + test);
  return entries;
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_CORE_SILICONCOVERAGE_H
