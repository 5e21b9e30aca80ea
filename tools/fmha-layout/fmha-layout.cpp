//===- fmha-layout.cpp - Print layouts, copies and products ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"
#include "Functions.h"
#include "Json.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/TmemFragments.h"
#include "fmha/Layout/Print/Output.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

using namespace fmha::layoutprint;
using namespace fmha::layouttool;

namespace {

constexpr int badInput = 2;

const char *const description =
    R"(Evaluates layouts, tiled copies and tiled products, and draws who owns what.

A layout is SHAPE:STRIDE, in CuTe's notation. It maps coordinates to offsets;
an integer is a coordinate too, counted with the first mode fastest. A shape
without strides is column-major.)";

const char *const examples = R"(
Names: "name = expression" in a file or after ';' defines a name; the value of
the last expression is printed. # begins a comment.

Examples:
  What does a layout map where?
    fmha-layout '((2,2),4):((1,8),2)'
  Compose, divide, invert:
    fmha-layout 'composition((8,8):(8,1), (4,2):(2,1))'
    fmha-layout 'zipped_divide((64,128):(128,1), (8,128))'
  Which thread copies which element of an (8,128) tile of 16-bit values, 16
  bytes each, and what does thread 19 copy of a (64,128) tensor?
    fmha-layout 'tiled_copy(copy_128, (8,16):(16,1), (1,8))'
    fmha-layout 'partition_s(tiled_copy(copy_128, (8,16):(16,1), (1,8)),
                             (64,128):(128,1), 19)'
  Draw the fragments of a product by 4 warps, and the ldmatrix that loads A:
    fmha-layout 'tiled_mma(mma_m16n8k16_f32_f16, (4,1,1))' --print=svg -o mma.svg
    fmha-layout 'copy_a(tiled_mma(mma_m16n8k8_f32_f16, (4,1,1), (64,16,16)),
                        ldmatrix_x4)' --print=svg -o load.svg
  Do 8 threads that read 16 bytes each of a column of rows conflict, and with a
  swizzle?
    fmha-layout 'banks((8,64):(64,1))'
    fmha-layout 'banks(swizzle(3,3,3, (8,64):(64,1)))' --print=svg -o banks.svg

Exit code: 0 printed, 2 bad input.)";

struct CommandLine {
  std::string input, format = "text", output = "-";
};

/// Returns the functions and instructions, for --help.
std::string reference() {
  std::string text = "Functions (L, A, B, M are layouts):\n";
  for (const Function &function : functions()) {
    if (!function.help)
      continue;
    std::string call =
        std::string(function.name) + "(" + function.arguments + ")";
    text += "  " + call +
            (call.size() < 30 ? std::string(31 - call.size(), ' ')
                              : "\n" + std::string(33, ' ')) +
            function.help + "\n";
  }
  auto list = [&](const char *title, const std::vector<std::string> &names) {
    text += std::string("\n") + title + ":\n ";
    size_t column = 1;
    for (const std::string &name : names) {
      if ((column += name.size() + 1) > 79) {
        text += "\n ";
        column = name.size() + 2;
      }
      text += " " + name;
    }
    text += "\n";
  };
  list("Copies", copyAtomNames());
  list("Products (N: a multiple of 8 up to 256; _rs: A in registers)",
       mmaAtomNames());
  list("Fragments of tensor memory", tmemFragmentNames());
  return text;
}

std::string readStream(std::istream &stream) {
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Returns the text of a file or of standard input, or `input` itself.
std::string readInput(const std::string &input) {
  if (input == "-")
    return readStream(std::cin);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(input, ignored))
    return input;
  std::ifstream file(input, std::ios::binary);
  if (!file)
    throw LayoutError("cannot read '" + input + "': " + std::strerror(errno));
  return readStream(file);
}

void write(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  if (!(file << text) || !file.flush())
    throw LayoutError("cannot write '" + path + "': " + std::strerror(errno));
}

void work(const CommandLine &line) {
  using Writer = std::function<std::string(const Picture &)>;
  static const std::map<std::string, Writer> writers = {{"text", textOf},
                                                        {"line", lineOf},
                                                        {"svg", svgOf},
                                                        {"latex", latexOf},
                                                        {"json", jsonOf}};
  auto writer = writers.find(line.format);
  if (writer == writers.end())
    throw LayoutError("--print: expected text, line, svg, latex or json, "
                      "got '" +
                      line.format + "'");
  if (line.input.empty())
    throw LayoutError("expected an expression or a file, got "
                      "nothing; try fmha-layout --help");
  write(line.output,
        writer->second(pictureOf(evaluate(readInput(line.input)))));
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  CLI::App app(description, "fmha-layout");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("input", line.input,
                 "An expression, a file of them, or - for standard input")
      ->type_name("EXPR|FILE");
  app.add_option("--print,--format", line.format,
                 "text (default), line (the value alone), svg, latex or json")
      ->type_name("FORMAT");
  app.add_option("-o,--output", line.output,
                 "File to write, - (default) for standard output")
      ->type_name("FILE");
  app.set_version_flag("--version", "fmha-layout " FMHA_VERSION);
  app.footer(reference() + examples);
  try {
    app.parse(argc, argv);
    work(line);
    return 0;
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? badInput : 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fmha-layout: error: %s\n", error.what());
    return badInput;
  }
}
