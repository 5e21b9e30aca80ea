//===- RunFlags.cpp - The command line of fmha-run ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFlags.h"

namespace fmha::tools {

void RunFlags::add(FlagTable &table) {
  problem.needsFiles = true;
  problem.add(table);
  table.addText("ptx", "K.ptx",
                "run the kernel of this file in place of the compiled one",
                ptx);
  table.group("Device");
  table.addChoice("device", {"sim", "cuda"}, "simulator (default) or GPU",
                  [this](size_t i) { device = runtime::DeviceKind(i); });
  table.addWord("policy", {"eager", "late", "random"},
                "when asynchronous work completes (default eager)",
                options.policy);
  table.addCount("schedule-seed", "seed of --policy=random (default 0)",
                 scheduleSeed);
  table.addCount("schedules",
                 "compare N runs bit by bit: the first with --policy, the "
                 "others random with the seeds after --schedule-seed",
                 schedules, 1);
  table.addSwitch("every-policy",
                  "also compare a run with each other policy, bit by bit",
                  [this](bool on) { everyPolicy = on; });
  table.addText("checks", "all|none|ID,...", "what the simulator looks for",
                options.checks);
  table.addWord("conformance", {"isa", "practice"},
                "what the manual allows (default), or what GPUs accept too",
                options.conformance);
  table.addWord("mma", {"fast", "exact"}, "arithmetic of the matrix products",
                options.mma);
  table.addWord("approx", {"correct", "perturb", "sm_90"},
                "results of approximate instructions", options.approx);
  table.addCount("max-ctas",
                 "the most CTAs of a launch with --scheduler=static, or on "
                 "sm_90a dynamic (default: one per multiprocessor of the "
                 "device)",
                 maxCtas, 1, UINT32_MAX);
  addData(table);
  addAppend(table);
  addReport(table);
  for (const char *flag : {"--tune", "--explain", "--emit", "--pipeline", "-o"})
    table.addHint(flag, "fmha-compile has this flag");
  table.addHint("--warm-l2", "set the variable PTXSIM_TIME_L2=warm");
  table.addHint("--time-draws", "set the variable PTXSIM_TIME_DRAWS=N");
}

void RunFlags::addReport(FlagTable &table) {
  table.group("Report");
  table.addSwitch("time",
                  "model the clocks that the kernels take on a GPU and what "
                  "bounds them; needs --device=sim, --policy=eager and a "
                  "target with figures: sm_90a, sm_100a or sm_103a. With the "
                  "variable PTXSIM_TIME_L2=warm all data is in L2; with "
                  "PTXSIM_TIME_DRAWS=N --json has N more results, with figures "
                  "drawn within their ranges; with PTXSIM_TIME_SMS=N the GPU "
                  "has N SMs; with PTXSIM_TIME_SM=N the CTAs are those of SM N",
                  [this](bool on) { options.time = on; });
  table.addSwitch("sass",
                  "with --time, which it implies: model the SASS that ptxas "
                  "makes of the kernels, not their PTX; needs ptxas and "
                  "nvdisasm (FMHA_PTXAS and FMHA_NVDISASM, or on the PATH)",
                  [this](bool on) {
                    options.sass = on;
                    options.time |= on;
                  });
  table.add("timeline", "FILE",
            "with --time, which it implies: write what each warp and unit of "
            "the first CTAs does at which clock, for ui.perfetto.dev, where a "
            "nanosecond is a modeled clock; a second kernel of the launch goes "
            "to FILE.2",
            [this](llvm::StringRef file) {
              options.timeline = file.str();
              options.time = true;
              return llvm::Error::success();
            });
  table.addSwitch("json", "one JSON object on standard output",
                  [this](bool on) { json = on; });
  table.addSwitch("help", "print this and stop",
                  [this](bool on) { help = on; });
  table.addSwitch("version", "print the version and stop",
                  [this](bool on) { version = on; });
}

void RunFlags::addData(FlagTable &table) {
  table.group("Data");
  table.addText("function", "NAME",
                "function of the file to run, if there are several",
                problem.function);
  table.addCount("seed", "seed of the N(0,1) inputs (default 0)", seed);
  table.addText("q", "Q.npy",
                "float32 or float16 array, as --layout says; of e4m3 also "
                "uint8, its bytes",
                q);
  table.addText("k", "K.npy", "likewise", k);
  table.addText("v", "V.npy", "likewise", v);
  table.addText("out", "O.npy", "write the output, float32", out);
  table.addText("lse-out", "L.npy",
                "write LSE, float32 [batch, q_heads, q_len]; implies --lse",
                lseOut);
  table.addText("row-max-out", "M.npy", "likewise; implies --row-max",
                rowMaxOut);
  table.addText("row-sum-out", "S.npy", "likewise; implies --row-sum",
                rowSumOut);
}

void RunFlags::addAppend(FlagTable &table) {
  table.group("New tokens, appended to k and v");
  table.addSwitch("append-apart",
                  "true: a kernel of fmha.append appends, in a launch before "
                  "attention; false: the kernel of attention appends (default: "
                  "false if that kernel can append)",
                  [this](bool on) { problem.appendsApart = on; });
  table.addText("k-cache-out", "F.npy", "write k after the launch, float32",
                kCacheOut);
  table.addText("v-cache-out", "F.npy", "write v after the launch, float32",
                vCacheOut);
  table.addText("rotary-cos", "F.npy",
                "float32 [positions, rotary-dim / 2] (default angles of base "
                "10000)",
                rotaryCos);
  table.addText("rotary-sin", "F.npy", "likewise", rotarySin);
}

void printHelp(const FlagTable &table) {
  llvm::outs()
      << "fmha-run [input.mlir] [flags]: compile one attention op, run it, "
         "compare it\nwith a float64 reference.\n"
         "\n"
         "  fmha-run --q-heads=32 --kv-heads=8 --q-len=300 --causal --lse\n"
         "  fmha-run layer.mlir --q-len=1 --kv-len=257 --json\n"
         "  fmha-run --q=q.npy --k=k.npy --v=v.npy --out=o.npy\n"
         "  fmha-run --schedules=10          is it free of races?\n"
         "  fmha-run --ptx=edited.ptx        the same problem, another kernel\n"
         "\n"
         "fmha-run plans one kernel for all lengths; --q-len and similar flags "
         "only give\nthe data's shape. To run the kernel that fmha-compile "
         "plans for one launch, pass\nits PTX with --ptx=FILE, or its fields "
         "as --explain names them: --splits=16\n--pack-heads=4 ...\n"
         "An extent that no flag gives is taken from the .npy files. If a flag "
         "is given\ntwice, the last one counts.\n"
         "Exit: 0 within tolerance and nothing found; 1 inaccurate, findings "
         "or "
         "deadlock;\n2 bad input.\n";
  table.printHelp(llvm::outs());
}

} // namespace fmha::tools
