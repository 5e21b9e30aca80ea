//===- Report.h - The outcome of a launch as JSON and as text ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ptx-sim and libptxsim.so tell their findings in these words. The JSON
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

/// "ok", "findings", "deadlock" or "step_limit".
const char *nameOf(Status status);

/// "eager", "late", "random" or "pct".
const char *nameOf(Policy policy);
/// "error" or "warning".
const char *nameOf(Severity severity);

/// {id, severity, message, ptx_line, source, warp, lane, cta, other, fix,
/// ptx_column, ptx_end_column, policy, schedule_seed, other_party}. `message`
/// ends with the sentence of `fix`; the end column is the first behind the
/// instruction. `other` is a sentence, and `other_party` whom it speaks of:
/// {agent, cta, warp, lane, ptx_line, ptx_column, ptx_end_column, source}, or
/// null where that is nobody.
nlohmann::ordered_json toJson(const Finding &finding);
nlohmann::ordered_json toJson(const std::vector<Finding> &findings);
/// [x, y, z]
nlohmann::ordered_json toJson(const Dim3 &dim);

/// The wait-for graph: {paths [{cta, warp, lanes, ptx_line, instruction, waits,
/// object, overrun}], objects [{kind, name, cta, smem_address, parity_wanted,
/// phase, pending_arrivals, pending_bytes, could_complete, events}],
/// exited_warps, in_flight}. A path's object is an index into objects; its
/// overrun is null or {barrier, phase, parity, completed_since, last_wait_line,
/// events}.
nlohmann::ordered_json toJson(const DeadlockReport &report);
/// The same for a person, several lines.
std::string describe(const DeadlockReport &report);

/// A finding whose message does not list the paths that wait: for a text in
/// which the graph follows it.
Finding withoutWaitList(Finding finding);

enum class Colour { Never, Always };

/// The finding for a person: "file.ptx:12:5: error [id]: message", the line of
/// `text` with the instruction underlined, who, and how to mend it. Ends with a
/// newline. `text` may be empty. Colours are those of a terminal.
std::string describe(const Finding &finding, std::string_view file,
                     std::string_view text, Colour colour = Colour::Never);

/// Line `line` (1-based) of a text, without its end; empty if there is none.
std::string_view lineOf(std::string_view text, unsigned line);

/// "file:line: error: message" with the line of `text` under it.
std::string describe(const Error &error, std::string_view file,
                     std::string_view text);

/// Writes `contents` to a new file beside `path` and renames it to `path`, so
/// that nobody ever sees half of it. Returns what went wrong, or nothing.
std::optional<std::string> writeWhole(const std::string &path,
                                      std::string_view contents);

} // namespace ptxsim

#endif // FMHA_PTX_HOST_REPORT_H
