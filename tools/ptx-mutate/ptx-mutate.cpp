//===- ptx-mutate.cpp - Break a PTX kernel in one place -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sites.h"
#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/Parser.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ptxsim;
using Json = nlohmann::ordered_json;

namespace {

constexpr int schemaVersion = 1;

const char *const description =
    R"(Breaks the synchronization of a PTX kernel in one place.

Without --id it lists every mutant as JSON: fences, waits and barriers deleted,
arrives doubled, parities flipped, counts changed, stages moved. With --id it
writes that mutant. A simulator should report each mutant that changes what a
run may do.)";

const char *const examples = R"(Examples:
  List the mutants of a kernel, and write one of them:
    ptx-mutate kernel.ptx
    ptx-mutate kernel.ptx --id=proxy-fence/delete@189 -o mutant.ptx
  Does a run reach the place of a mutant? If so, this kernel traps there:
    ptx-mutate kernel.ptx --id=proxy-fence/delete@189 --probe -o probe.ptx

tools/ptx-mutate/README.md lists the classes of mutants. score.py in the same
folder runs all mutants of the project's kernels in ptx-sim.

Exit code: 0 done, 2 bad input.)";

struct CommandLine {
  std::string kernel, id, output = "-";
  bool probe = false;
};

struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string readAll(const std::string &path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file)
      throw BadInput("cannot read '" + path + "': " + std::strerror(errno));
  }
  std::ostringstream text;
  text << (path == "-" ? std::cin.rdbuf() : file.rdbuf());
  return text.str();
}

void writeAll(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  if (!(file << text) || !file.flush())
    throw BadInput("cannot write '" + path + "': " + std::strerror(errno));
}

std::string listing(const std::vector<mutate::Site> &all) {
  Json list = Json::array();
  for (const mutate::Site &site : all)
    list.push_back({{"id", site.id},
                    {"class", site.group},
                    {"change", site.name},
                    {"function", site.function},
                    {"line", site.line},
                    {"before", site.before},
                    {"after", site.after}});
  Json json = {{"schema_version", schemaVersion}, {"sites", list}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void work(const CommandLine &line) {
  if (line.probe && line.id.empty())
    throw BadInput("expected --id with --probe, got none");
  auto module = syntax::parse(readAll(line.kernel), line.kernel);
  std::vector<mutate::Site> all = mutate::sites(*module);
  if (line.id.empty())
    return writeAll(line.output, listing(all));
  for (const mutate::Site &site : all)
    if (site.id == line.id)
      return writeAll(line.output, line.probe ? mutate::probe(*module, site)
                                              : mutate::mutant(*module, site));
  throw BadInput(line.kernel + " has no mutant '" + line.id +
                 "', expected one of the ids that are listed without --id");
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  CLI::App app(description, "ptx-mutate");
  app.add_option("kernel", line.kernel, "PTX file, - for the standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--id", line.id, "Write this mutant instead of the list")
      ->type_name("ID");
  app.add_flag("--probe", line.probe,
               "With --id: write the kernel with a trap there instead of the "
               "change, to see whether a run reaches the place");
  app.add_option("-o,--output", line.output,
                 "File to write, - (default) for the standard output")
      ->type_name("FILE");
  app.footer(examples);
  app.set_version_flag("--version", "ptx-mutate " FMHA_VERSION);
  try {
    app.parse(argc, argv);
    work(line);
    return 0;
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "ptx-mutate: error: %s\n", error.what());
    return 2;
  }
}
