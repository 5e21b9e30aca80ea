//===- CopyAtoms.cpp - Instructions that copy -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, ldmatrix: the rows of matrix i, of 128 bits each, are addressed by
// lanes 8*i .. 8*i+7. Lane l receives elements (l/4, 2*(l%4)) and the next one
// of each matrix, or with .trans those of the transposed matrix. stmatrix has
// the same maps the other way around.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/CopyAtoms.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Text.h"

#include <algorithm>

namespace fmha::layout::algebra {
namespace {

/// An atom as text; layouts count bits. `side` is the one that threads see in
/// registers, `rows` the one in shared memory; both are equal for plain copies.
struct Row {
  const char *name, *ptx;
  const char *rows, *registers;
  bool stores = false;
};

constexpr Row table[] = {
    {"copy_8", "ld / st .b8", "(1,8)", "(1,8)"},
    {"copy_16", "ld / st .b16", "(1,16)", "(1,16)"},
    {"copy_32", "ld / st .b32", "(1,32)", "(1,32)"},
    {"copy_64", "ld / st .b64", "(1,64)", "(1,64)"},
    {"copy_128", "ld / st .v4.b32", "(1,128)", "(1,128)"},
    {"cp_async_32", "cp.async.ca.shared.global 4", "(1,32)", "(1,32)"},
    {"cp_async_64", "cp.async.ca.shared.global 8", "(1,64)", "(1,64)"},
    {"cp_async_128", "cp.async.cg.shared.global 16", "(1,128)", "(1,128)"},
    {"ldmatrix_x1", "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
     "((8,4),128):((128,0),1)", "(32,32):(32,1)"},
    {"ldmatrix_x2", "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
     "((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))"},
    {"ldmatrix_x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
     "(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))"},
    {"ldmatrix_x1_trans", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
     "((8,4),128):((128,0),1)", "((4,8),(16,2)):((256,16),(1,128))"},
    {"ldmatrix_x2_trans", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
     "((16,2),128):((128,0),1)", "((4,8),(16,2,2)):((256,16),(1,128,1024))"},
    {"ldmatrix_x4_trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
     "(32,128):(128,1)", "((4,8),(16,2,4)):((256,16),(1,128,1024))"},
    {"stmatrix_x1", "stmatrix.sync.aligned.m8n8.x1.shared.b16",
     "((8,4),128):((128,0),1)", "(32,32):(32,1)", true},
    {"stmatrix_x2", "stmatrix.sync.aligned.m8n8.x2.shared.b16",
     "((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))", true},
    {"stmatrix_x4", "stmatrix.sync.aligned.m8n8.x4.shared.b16",
     "(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))", true},
    {"stmatrix_x1_trans", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
     "((8,4),128):((128,0),1)", "((4,8),(16,2)):((256,16),(1,128))", true},
    {"stmatrix_x2_trans", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
     "((16,2),128):((128,0),1)", "((4,8),(16,2,2)):((256,16),(1,128,1024))",
     true},
    {"stmatrix_x4_trans", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
     "(32,128):(128,1)", "((4,8),(16,2,4)):((256,16),(1,128,1024))", true},
};

CopyAtom read(const Row &row) {
  Layout rows = parseLayout(row.rows), registers = parseLayout(row.registers);
  return {row.name, row.ptx, row.stores ? registers : rows,
          row.stores ? rows : registers, registers};
}

} // namespace

std::vector<std::string> copyAtomNames() {
  std::vector<std::string> names;
  for (const Row &row : table)
    names.push_back(row.name);
  return names;
}

CopyAtom copyAtom(std::string_view name) {
  for (const Row &row : table)
    if (name == row.name)
      return read(row);
  std::string known;
  for (const Row &row : table)
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  throw LayoutError("expected a copy, one of " + known + ", got '" +
                    std::string(name) + "'");
}

} // namespace fmha::layout::algebra
