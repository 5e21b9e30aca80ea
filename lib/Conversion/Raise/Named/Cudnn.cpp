//===- Cudnn.cpp - Attention of cuDNN, as XLA calls it --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The custom calls __cudnn$fmhaSoftmax and __cudnn$fmhaScaleBiasSoftmax, whose
// arguments are in a backend_config of JSON.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {
/// The arguments in the configuration.
struct CallConfig {
  double scale = 1.0;
  double dropout = 0.0;
  std::string maskType;
  int64_t window = 0;
  /// The letters of query, key and value.
  std::string letters;

  bool isCausal() const {
    return maskType == "CAUSAL" || maskType == "PADDING_CAUSAL";
  }
  bool isPadded() const {
    return maskType == "PADDING" || maskType == "PADDING_CAUSAL";
  }
};
} // namespace

/// Returns the dimensions in a list of the first product's dimension numbers.
static std::string dimensionsOf(const llvm::json::Object &numbers,
                                StringRef list) {
  std::string dimensions;
  if (const llvm::json::Array *entries = numbers.getArray(list))
    for (const llvm::json::Value &entry : *entries)
      dimensions += entry.getAsString().value_or("?").str();
  return dimensions;
}

/// Returns the letters of the operands: the product's batch dimensions are
/// those of batches and heads, and it contracts the head dim.
static std::string lettersOf(const llvm::json::Object &config) {
  const llvm::json::Object *numbers =
      config.getObject("bmm1_dot_dimension_numbers");
  if (!numbers || dimensionsOf(*numbers, "lhs_contracting_dimensions") != "3" ||
      dimensionsOf(*numbers, "rhs_contracting_dimensions") != "3")
    return "";
  std::string batches = dimensionsOf(*numbers, "lhs_batch_dimensions");
  if (batches != dimensionsOf(*numbers, "rhs_batch_dimensions"))
    return "";
  return llvm::StringSwitch<std::string>(batches)
      .Case("02", "blhd")
      .Case("01", "bhld")
      .Default("");
}

/// Returns a refusal that expects `wanted` in the configuration.
static Refusal badConfig(StringRef wanted, StringRef got) {
  return Refusal(Reason::Config, wanted.str(), got.str());
}

/// Returns the object with the arguments, or the reason why there is none.
static std::variant<llvm::json::Object, Refusal> parseConfig(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>("backend_config");
  if (!text)
    return badConfig("JSON in a string", "none");
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text.getValue());
  if (!parsed)
    return badConfig("JSON", llvm::toString(parsed.takeError()));
  llvm::json::Object *outer = parsed->getAsObject();
  llvm::json::Object *config =
      outer ? outer->getObject("cudnn_fmha_backend_config") : nullptr;
  if (!config)
    return badConfig("cudnn_fmha_backend_config", "none");
  return std::move(*config);
}

/// Returns why a field that may be absent has another type.
static std::optional<Refusal> checkFields(const llvm::json::Object &config) {
  const llvm::json::Value *dropout = config.get("dropout_rate"),
                          *window = config.get("sliding_window_length"),
                          *paged = config.get("is_paged_attention"),
                          *segments = config.get("max_seg_per_batch");
  if (dropout && !dropout->getAsNumber())
    return badConfig("a number dropout_rate", "another type");
  if (window && !window->getAsInteger())
    return badConfig("an integer sliding_window_length", "another type");
  if (paged && !paged->getAsBoolean())
    return badConfig("a boolean is_paged_attention", "another type");
  if (segments && !segments->getAsInteger())
    return badConfig("an integer max_seg_per_batch", "another type");
  return std::nullopt;
}

/// Returns whether the second product, if the configuration has it, sums over
/// the keys.
static bool sumsOverKeys(const llvm::json::Object &config, StringRef letters) {
  const llvm::json::Object *numbers =
      config.getObject("bmm2_dot_dimension_numbers");
  return !numbers || dimensionsOf(*numbers, "rhs_contracting_dimensions") ==
                         std::to_string(letters.find('l'));
}

static std::variant<CallConfig, Refusal> readConfig(Operation *op) {
  auto parsed = parseConfig(op);
  if (auto *refusal = std::get_if<Refusal>(&parsed))
    return *refusal;
  const auto &object = std::get<llvm::json::Object>(parsed);
  CallConfig config;
  std::optional<double> scale = object.getNumber("fmha_scale");
  if (!scale)
    return badConfig("fmha_scale", "none");
  config.scale = *scale;
  if (auto refusal = checkFields(object))
    return *refusal;
  config.dropout = object.getNumber("dropout_rate").value_or(0.0);
  config.maskType = object.getString("mask_type").value_or("").str();
  config.window = object.getInteger("sliding_window_length").value_or(0);
  config.letters = lettersOf(object);
  if (config.letters.empty() || !sumsOverKeys(object, config.letters))
    return badConfig("dimension numbers of [batch, length, heads, dim] or "
                     "[batch, heads, length, dim]",
                     "others");
  if (object.getBoolean("is_paged_attention").value_or(false) ||
      object.getInteger("max_seg_per_batch").value_or(1) > 1)
    return badConfig("one sequence per batch and no pages", "others");
  return config;
}

static std::optional<Refusal> checkConfig(const CallConfig &config) {
  if (config.dropout != 0)
    return Refusal(Reason::Dropout,
                   "a probability of " + std::to_string(config.dropout));
  if (config.maskType != "NO_MASK" && !config.isCausal() && !config.isPadded())
    return Refusal(Reason::MaskType, config.maskType);
  if (config.window < 0 || (config.window && !config.isCausal()) ||
      config.window > int64_t(schedule::Mask::largestWindow))
    return Refusal(Reason::Window, "a length of " +
                                       std::to_string(config.window) + " and " +
                                       config.maskType);
  return std::nullopt;
}

/// Reads the lengths of queries and keys.
static std::optional<Refusal> readLengths(Value queries, Value keys,
                                          AttentionForm &form) {
  for (Value lengths : {queries, keys}) {
    RankedTensorType type = tensorTypeOf(lengths);
    if (!type || type.getRank() != 1 ||
        !type.getElementType().isSignlessInteger(32))
      return Refusal(Reason::Operands, "lengths of i32 per sequence",
                     textOf(lengths.getType()) + " among the");
  }
  form.score.push_back(keepRowsBefore({queries, tensorTypeOf(queries), "b"}));
  form.kvLens = keys;
  return std::nullopt;
}

/// Reads the operands after value: a bias, then lengths.
static std::optional<Refusal> readRest(Operation *op, bool hasBias,
                                       const CallConfig &config,
                                       AttentionForm &form) {
  unsigned wanted = 3 + hasBias + (config.isPadded() ? 2 : 0);
  if (op->getNumOperands() != wanted)
    return Refusal(Reason::Operands, std::to_string(wanted) + " operands",
                   std::to_string(op->getNumOperands()));
  if (hasBias) {
    auto bias = viewOf(op->getOperand(3), "bhij");
    if (auto *refusal = std::get_if<Refusal>(&bias))
      return *refusal;
    form.score.push_back(
        addBias({op->getOperand(3), std::get<TensorView>(bias).type, "bhij"}));
  }
  if (config.isPadded())
    return readLengths(op->getOperand(wanted - 2), op->getOperand(wanted - 1),
                       form);
  return std::nullopt;
}

/// Returns why the results are not the output, LSE if there are three, and a
/// workspace that nothing uses.
static std::optional<Refusal> checkResults(Operation *op) {
  constexpr StringRef wanted = "the output, LSE or none, and a workspace";
  unsigned results = op->getNumResults();
  if (results < 2 || results > 3)
    return Refusal(Reason::Results, wanted.str(),
                   std::to_string(results) + " results");
  RankedTensorType workspace = tensorTypeOf(op->getResults().back());
  if (!op->getResults().back().use_empty() || !workspace ||
      !workspace.hasStaticShape())
    return Refusal(Reason::Results, wanted.str(), "a workspace that is used");
  RankedTensorType rows = tensorTypeOf(op->getResult(1));
  if (results == 3 &&
      (!rows || rows.getRank() != 3 || !rows.getElementType().isF32()))
    return Refusal(Reason::Results, wanted.str(),
                   textOf(op->getResult(1).getType()));
  return std::nullopt;
}

/// Adds LSE and the workspace to the results.
static void addResults(Operation *op, NamedForm &named) {
  named.attention.lse = op->getNumResults() == 3;
  Location location = op->getLoc();
  Type rows = op->getResult(1).getType();
  auto workspace = cast<RankedTensorType>(op->getResults().back().getType());
  named.results = [=](OpBuilder &b, const AttentionForm &,
                      const RaisedAttention &raised) {
    SmallVector<Value> results = {raised.output};
    if (raised.lse)
      results.push_back(
          raised.lse.getType() == rows
              ? raised.lse
              : tensor::CastOp::create(b, location, rows, raised.lse));
    results.push_back(tensor::EmptyOp::create(b, location, workspace.getShape(),
                                              workspace.getElementType()));
    return results;
  };
}

Reading fmha::raise::readCudnn(Operation *op, const ReadOptions &) {
  if (op->getNumOperands() < 3 || !op->getNumResults())
    return Refusal(Reason::Operands, "3 operands or more",
                   std::to_string(op->getNumOperands()));
  auto read = readConfig(op);
  if (auto *refusal = std::get_if<Refusal>(&read))
    return *refusal;
  const auto &config = std::get<CallConfig>(read);
  if (auto refusal = checkConfig(config))
    return *refusal;
  if (auto refusal = checkResults(op))
    return *refusal;
  NamedForm named;
  AttentionForm &form = named.attention;
  if (auto refusal = readViews(op, config.letters, "bhld", form))
    return *refusal;
  if (op->getNumResults() == 3)
    if (auto refusal = checkResult(op->getResult(1), {form.output.extent('b'),
                                                      form.output.extent('h'),
                                                      form.output.extent('l')}))
      return *refusal;
  auto callee = op->getAttrOfType<StringAttr>("call_target_name");
  bool hasBias = callee.getValue().contains("Bias");
  if (auto refusal = readRest(op, hasBias, config, form))
    return *refusal;
  form.scale = config.scale;
  if (config.isCausal())
    setCausalTopLeft(form);
  if (config.window)
    form.mask.left = config.window - 1;
  addResults(op, named);
  return named;
}
