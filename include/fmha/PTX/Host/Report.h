//===- Report.h - The outcome of a launch as JSON and as text ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptx-sim and libptxsim.so both report their findings in this form. The JSON
// fields are those of the tools' reports: absent parts are null, never a magic
// number.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_HOST_REPORT_H
#define FMHA_PTX_HOST_REPORT_H

#include "fmha/PTX/Sim/Simulator.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ptxsim {

/// Returns "ok", "findings", "deadlock" or "step_limit".
const char *nameOf(Status status);

/// Returns "eager", "late", "random" or "pct".
const char *nameOf(Policy policy);
/// Returns "error" or "warning".
const char *nameOf(Severity severity);

/// Returns {id, severity, message, ptx_line, source, warp, lane, cta, other,
/// fix, ptx_column, ptx_end_column, policy, schedule_seed, other_party}.
/// `message` ends with the sentence of `fix`; the end column is the first one
/// after the instruction. `other` is a sentence, and `other_party` its subject:
/// {agent, cta, warp, lane, ptx_line, ptx_column, ptx_end_column, source}, or
/// null if there is none.
nlohmann::ordered_json toJson(const Finding &finding);
nlohmann::ordered_json toJson(const std::vector<Finding> &findings);
/// Returns [x, y, z].
nlohmann::ordered_json toJson(const Dim3 &dim);

/// Returns the wait-for graph: {paths [{cta, warp, lanes, ptx_line,
/// instruction, waits, object, overrun}], objects [{kind, name, cta,
/// smem_address, parity_wanted, phase, pending_arrivals, pending_bytes,
/// could_complete, events}], exited_warps, in_flight}. A path's object is an
/// index into objects; its overrun is null or {barrier, phase, parity,
/// completed_since, last_wait_line, events}.
nlohmann::ordered_json toJson(const DeadlockReport &report);
/// Returns the graph as text of several lines.
std::string describe(const DeadlockReport &report);

/// Returns a finding whose message does not list the waiting paths, for text in
/// which the graph follows.
Finding withoutWaitList(Finding finding);

enum class Color { Never, Always };

/// Returns the finding as text: "file.ptx:12:5: error [id]: message", the line
/// of `text` with the instruction underlined, the parties, and the fix. Ends
/// with a newline. `text` may be empty. Colors are those of a terminal.
std::string describe(const Finding &finding, std::string_view file,
                     std::string_view text, Color color = Color::Never);

/// Returns line `line` (1-based) of a text, without its newline; empty if there
/// is none.
std::string_view lineOf(std::string_view text, unsigned line);

/// Returns "file:line: error: message" followed by the line of `text`.
std::string describe(const Error &error, std::string_view file,
                     std::string_view text);

/// Writes `contents` to a new file in the folder of `path` and renames it to
/// `path`, so that readers never see a partial file. Returns the error, or
/// nullopt.
std::optional<std::string> writeWhole(const std::string &path,
                                      std::string_view contents);

} // namespace ptxsim

#endif // FMHA_PTX_HOST_REPORT_H
