//===- LaunchChecks.h - Constraints on run-time values ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_LAUNCHCHECKS_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_LAUNCHCHECKS_H

#include "mlir/IR/Builders.h"

#include <functional>
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {

/// Whether the host can read the elements of kv_lens, cu_seqlens_q,
/// cu_seqlens_k, source2_lens and sink.
enum class ListContents { OnDevice, Readable };

/// Builds the message of a failed check from "(attention.C17) expected ...".
using CheckMessage =
    std::function<std::string(mlir::Operation *, mlir::StringRef)>;

/// Returns "file.mlir:3:5: fmha.attention: " and the rule's text.
std::string launchCheckMessage(mlir::Operation *op, mlir::StringRef text);

/// Emits a cf.assert that `condition` holds, unless it is constant true; the
/// message is "(`rule`) expected `expected`".
void assertRule(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value condition,
                mlir::StringRef rule, const llvm::Twine &expected,
                const CheckMessage &message = launchCheckMessage);

/// Emits at `b` checks of the numbered constraints of `op`, a fmha.attention,
/// fmha.append or fmha.merge on memrefs, that its types do not decide.
void generateLaunchChecks(mlir::OpBuilder &b, mlir::Operation *op,
                          ListContents lists,
                          const CheckMessage &message = launchCheckMessage);

/// Emits at `b` checks of the constraints of `op` on the number and the values
/// of varlen metadata entries, which the host reads.
void generateListChecks(mlir::OpBuilder &b, mlir::Operation *op);

/// Lets `generate-runtime-verification` check the ops of the fmha dialect.
/// The checks read varlen metadata, so the host must be able to access it.
void registerRuntimeVerifiableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_LAUNCHCHECKS_H
