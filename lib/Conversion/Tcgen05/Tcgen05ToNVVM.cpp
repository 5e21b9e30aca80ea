//===- Tcgen05ToNVVM.cpp - One tcgen05 op, one NVVM op --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Tcgen05/Passes.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTTCGEN05TONVVM
#include "fmha/Conversion/Tcgen05/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha::tcgen05;

/// Returns the CTA group of an op that has one.
static std::optional<unsigned> findGroup(Operation *op) {
  return TypeSwitch<Operation *, std::optional<unsigned>>(op)
      .Case<AllocOp, RelinquishOp, DeallocOp, CommitOp, CpOp, ShiftOp, MmaOp>(
          [](auto one) { return one.getCtaGroup(); })
      .Default(std::nullopt);
}

namespace {

/// An op with a CTA group.
struct Grouped {
  Operation *op;
  unsigned group;
};

/// The CTA groups of functions. A kernel has one, and so have all functions
/// that it calls.
class GroupCheck {
public:
  explicit GroupCheck(Operation *root) : root(root) {}
  LogicalResult run();

private:
  LogicalResult note(Operation *function, Operation *op, unsigned group);
  LogicalResult checkFrom(Operation *function);

  Operation *root;
  /// The first op of each function, and the functions that it calls.
  llvm::MapVector<Operation *, std::optional<Grouped>> firsts;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> callees;
};

} // namespace

static LogicalResult reportGroups(const Grouped &first, const Grouped &other,
                                  StringRef where) {
  InFlightDiagnostic error = other.op->emitError()
                             << "expected 'cta_group' of " << first.group
                             << ", that of the other ops of " << where
                             << ", got " << other.group
                             << "; a kernel has one CTA group";
  error.attachNote(first.op->getLoc()) << "the first op is here";
  return failure();
}

/// Reports the first op of a function whose CTA group is not that of the ops
/// before it.
LogicalResult GroupCheck::note(Operation *function, Operation *op,
                               unsigned group) {
  std::optional<Grouped> &first = firsts[function];
  if (!first)
    first = Grouped{op, group};
  if (first->group == group)
    return success();
  return reportGroups(*first, {op, group}, "this function");
}

/// Compares the functions that `function` calls, directly or not.
LogicalResult GroupCheck::checkFrom(Operation *function) {
  llvm::SetVector<Operation *> reached;
  reached.insert(function);
  std::optional<Grouped> first;
  for (size_t n = 0; n < reached.size(); ++n) {
    Operation *each = reached[n];
    reached.insert_range(callees[each]);
    std::optional<Grouped> own = firsts.lookup(each);
    if (!own)
      continue;
    if (!first)
      first = own;
    if (first->group != own->group)
      return reportGroups(*first, *own,
                          ("@" +
                           SymbolTable::getSymbolName(function).getValue() +
                           " and of the functions that it calls")
                              .str());
  }
  return success();
}

LogicalResult GroupCheck::run() {
  SymbolTableCollection tables;
  WalkResult result = root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<FunctionOpInterface>(op))
      firsts.try_emplace(op, std::nullopt);
    Operation *function = op->getParentOfType<FunctionOpInterface>();
    if (auto call = dyn_cast<CallOpInterface>(op); call && function)
      if (Operation *callee = call.resolveCallableInTable(&tables))
        callees[function].push_back(callee);
    std::optional<unsigned> group = findGroup(op);
    return group && failed(note(function, op, *group)) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation *function : llvm::make_first_range(firsts))
    if (function && failed(checkFrom(function)))
      return failure();
  return success();
}

/// Returns the targets of the module of an op; none if ptxas decides.
static SmallVector<NVVM::NVVMTargetAttr> targetsOf(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr())
    return {};
  return llvm::to_vector(
      module.getTargetsAttr().getAsRange<NVVM::NVVMTargetAttr>());
}

/// Reports an op whose module has a target without its instruction.
static LogicalResult checkTarget(LdRedOp op) {
  for (NVVM::NVVMTargetAttr target : targetsOf(op))
    if (!hasReducingLoads(target.getChip()))
      return op.emitError()
             << "expected a target that has tcgen05.ld.red, one of "
             << llvm::join(reducingChips(), ", ") << ", got "
             << target.getChip()
             << "; use 'tcgen05.ld' and reduce the registers";
  return success();
}

/// Returns the version of PTX that the features of a target name, 86 of
/// "+ptx86"; 0 if they name none.
static unsigned ptxVersion(StringRef features) {
  unsigned version = 0;
  for (StringRef feature : llvm::split(features, ','))
    if (feature.consume_front("+ptx"))
      (void)feature.getAsInteger(10, version);
  return version;
}

/// Reports a product with scale factors whose PTX is too old for the sizes of
/// their blocks: LLVM has no instruction for it, and ends the process.
static LogicalResult checkTarget(MmaOp op) {
  constexpr unsigned least = 88;
  if (!op.getBlock())
    return success();
  for (NVVM::NVVMTargetAttr target : targetsOf(op))
    if (ptxVersion(target.getFeatures()) < least)
      return op.emitError()
             << "expected a target with features = \"+ptx" << least
             << "\" or of a later PTX for scale factors, got \""
             << target.getFeatures() << '"';
  return success();
}

static LogicalResult checkTargets(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<LdRedOp, MmaOp>([](auto one) { return checkTarget(one); })
        .Default(success());
  });
  return failure(result.wasInterrupted());
}

static Value i32(ImplicitLocOpBuilder &b, int32_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

static Value i64(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI64Type(),
                                  b.getI64IntegerAttr(value));
}

template <typename OpTy> static NVVM::CTAGroupKind groupOf(OpTy op) {
  return op.getCtaGroup() == 2 ? NVVM::CTAGroupKind::CTA_2
                               : NVVM::CTAGroupKind::CTA_1;
}

//===----------------------------------------------------------------------===//
// Enumerations, whose values are those of NVVM
//===----------------------------------------------------------------------===//

/// Returns whether casts between values of two enumerations are right.
template <typename From, typename To, size_t Count>
static constexpr bool areEqual(const std::pair<From, To> (&pairs)[Count]) {
  for (auto [from, to] : pairs)
    if (unsigned(from) != unsigned(to))
      return false;
  return true;
}

constexpr std::pair<MoveShape, NVVM::Tcgen05LdStShape> moveShapes[] = {
    {MoveShape::Shape16x64b, NVVM::Tcgen05LdStShape::SHAPE_16X64B},
    {MoveShape::Shape16x128b, NVVM::Tcgen05LdStShape::SHAPE_16X128B},
    {MoveShape::Shape16x256b, NVVM::Tcgen05LdStShape::SHAPE_16X256B},
    {MoveShape::Shape32x32b, NVVM::Tcgen05LdStShape::SHAPE_32X32B},
    {MoveShape::Shape16x32bx2, NVVM::Tcgen05LdStShape::SHAPE_16X32BX2}};
static_assert(areEqual(moveShapes));

constexpr std::pair<CopyShape, NVVM::Tcgen05CpShape> copyShapes[] = {
    {CopyShape::Shape128x256b, NVVM::Tcgen05CpShape::SHAPE_128x256b},
    {CopyShape::Shape4x256b, NVVM::Tcgen05CpShape::SHAPE_4x256b},
    {CopyShape::Shape128x128b, NVVM::Tcgen05CpShape::SHAPE_128x128b},
    {CopyShape::Shape64x128b, NVVM::Tcgen05CpShape::SHAPE_64x128b},
    {CopyShape::Shape32x128b, NVVM::Tcgen05CpShape::SHAPE_32x128b}};
static_assert(areEqual(copyShapes));

constexpr std::pair<Multicast, NVVM::Tcgen05CpMulticast> multicasts[] = {
    {Multicast::None, NVVM::Tcgen05CpMulticast::NONE},
    {Multicast::Warpx2_02_13, NVVM::Tcgen05CpMulticast::WARPX2_02_13},
    {Multicast::Warpx2_01_23, NVVM::Tcgen05CpMulticast::WARPX2_01_23},
    {Multicast::Warpx4, NVVM::Tcgen05CpMulticast::WARPX4}};
static_assert(areEqual(multicasts));

constexpr std::pair<Packing, NVVM::Tcgen05CpSrcFormat> packings[] = {
    {Packing::B6x16_P32, NVVM::Tcgen05CpSrcFormat::B6x16_P32},
    {Packing::B4x16_P64, NVVM::Tcgen05CpSrcFormat::B4x16_P64}};
static_assert(areEqual(packings));

constexpr std::pair<MmaKind, NVVM::Tcgen05MMAKind> unscaledKinds[] = {
    {MmaKind::F16, NVVM::Tcgen05MMAKind::F16},
    {MmaKind::TF32, NVVM::Tcgen05MMAKind::TF32},
    {MmaKind::F8F6F4, NVVM::Tcgen05MMAKind::F8F6F4},
    {MmaKind::I8, NVVM::Tcgen05MMAKind::I8}};
static_assert(areEqual(unscaledKinds));

constexpr std::pair<Collector, NVVM::Tcgen05MMACollectorOp> collectors[] = {
    {Collector::Discard, NVVM::Tcgen05MMACollectorOp::DISCARD},
    {Collector::LastUse, NVVM::Tcgen05MMACollectorOp::LASTUSE},
    {Collector::Fill, NVVM::Tcgen05MMACollectorOp::FILL},
    {Collector::Use, NVVM::Tcgen05MMACollectorOp::USE}};
static_assert(areEqual(collectors));

constexpr std::pair<unsigned, NVVM::Tcgen05MMACollectorBBuffer> buffers[] = {
    {0, NVVM::Tcgen05MMACollectorBBuffer::B0},
    {1, NVVM::Tcgen05MMACollectorBBuffer::B1},
    {2, NVVM::Tcgen05MMACollectorBBuffer::B2},
    {3, NVVM::Tcgen05MMACollectorBBuffer::B3}};
static_assert(areEqual(buffers));

static NVVM::Tcgen05LdStShape shapeOf(MoveShape shape) {
  return NVVM::Tcgen05LdStShape(unsigned(shape));
}

static Value offsetOf(ImplicitLocOpBuilder &b, std::optional<uint32_t> offset) {
  return offset ? i64(b, *offset) : Value();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Returns the registers of a value, which is one or a vector of them.
static SmallVector<Value> unpack(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return {value};
  SmallVector<Value> registers;
  for (int64_t n = 0; n < type.getNumElements(); ++n)
    registers.push_back(LLVM::ExtractElementOp::create(b, value, i32(b, n)));
  return registers;
}

/// Returns the registers as one value of `type`.
static Value pack(ImplicitLocOpBuilder &b, Type type,
                  ArrayRef<Value> registers) {
  if (!isa<VectorType>(type))
    return registers.front();
  Value value = LLVM::PoisonOp::create(b, type);
  for (auto [n, one] : llvm::enumerate(registers))
    value = LLVM::InsertElementOp::create(b, value, one, i32(b, n));
  return value;
}

/// Returns the results of inline PTX with `count` registers as results.
static SmallVector<Value> assembly(ImplicitLocOpBuilder &b, StringRef text,
                                   StringRef constraints, unsigned count,
                                   ValueRange operands,
                                   bool isConvergent = false) {
  auto all = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getI32Type()));
  auto made = LLVM::InlineAsmOp::create(
      b, all, operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  if (isConvergent)
    made->setDiscardableAttr(convergentName, b.getUnitAttr());
  Value result = made.getRes();
  SmallVector<Value> registers;
  for (unsigned n = 0; n < count; ++n)
    registers.push_back(LLVM::ExtractValueOp::create(b, result, n));
  return registers;
}

//===----------------------------------------------------------------------===//
// Allocation, synchronization and movement
//===----------------------------------------------------------------------===//

static ValueRange lower(AllocOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05AllocOp::create(b, op.getSlot(), i32(b, op.getColumns()),
                               groupOf(op));
  return {};
}

static ValueRange lower(RelinquishOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b, groupOf(op));
  return {};
}

static ValueRange lower(DeallocOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05DeallocOp::create(b, op.getAddress(), i32(b, op.getColumns()),
                                 groupOf(op));
  return {};
}

static ValueRange lower(FenceOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05FenceOp::create(b,
                               op.getMoment() == Moment::Before
                                   ? NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC
                                   : NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  return {};
}

static ValueRange lower(CommitOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05CommitOp::create(b, op.getBarrier(), op.getMask(), groupOf(op));
  return {};
}

static ValueRange lower(LdOp op, ImplicitLocOpBuilder &b) {
  return NVVM::Tcgen05LdOp::create(b, op.getRegisters().getType(), op.getPack(),
                                   shapeOf(op.getShape()), op.getAddress(),
                                   offsetOf(b, op.getOffset()))
      ->getResults();
}

/// tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32 {$0, $1}, $2, [$3];
static std::string textOf(LdRedOp op, unsigned registers) {
  StringRef shape = stringifyMoveShape(op.getShape());
  shape.consume_front("shape_");
  Type element = op.getElement();
  std::string text =
      ("tcgen05.ld.red.sync.aligned." + shape + ".x" + Twine(registers) + "." +
       stringifyExtremum(op.getExtremum()))
          .str();
  text += op.getAbs() ? ".abs" : "";
  text += op.getNan() ? ".NaN" : "";
  text += element.isF32()                 ? ".f32"
          : element.isUnsignedInteger(32) ? ".u32"
                                          : ".s32";
  for (unsigned n = 0; n < registers; ++n)
    text += (n ? ", $" : " {$") + std::to_string(n);
  text += "}, $" + std::to_string(registers) + ", [$" +
          std::to_string(registers + 1) + "]";
  if (op.getOffset())
    text += ", " + std::to_string(*op.getOffset());
  return text + ";";
}

static SmallVector<Value> lower(LdRedOp op, ImplicitLocOpBuilder &b) {
  Type type = op.getRegisters().getType();
  unsigned registers = cast<VectorType>(type).getNumElements();
  std::string constraints;
  for (unsigned n = 0; n <= registers; ++n)
    constraints += "=r,";
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), op.getAddress());
  SmallVector<Value> all =
      assembly(b, textOf(op, registers), constraints + "r", registers + 1,
               address, /*isConvergent=*/true);
  return {pack(b, type, ArrayRef(all).drop_back()), all.back()};
}

static ValueRange lower(StOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05StOp::create(b, op.getUnpack(), shapeOf(op.getShape()),
                            op.getAddress(), op.getRegisters(),
                            offsetOf(b, op.getOffset()));
  return {};
}

/// The registers pass through a statement without text: LLVM orders the wait
/// against other memory accesses, but not against arithmetic on registers.
static SmallVector<Value> lower(WaitOp op, ImplicitLocOpBuilder &b) {
  bool load = op.getAccess() == Access::Load;
  NVVM::Tcgen05WaitOp::create(b, load ? NVVM::Tcgen05WaitKind::LOAD
                                      : NVVM::Tcgen05WaitKind::STORE);
  SmallVector<Value> registers, results;
  for (Value value : op.getValues())
    llvm::append_range(registers, unpack(b, value));
  if (registers.empty())
    return {};
  std::string constraints;
  for (size_t n = 0; n < registers.size(); ++n)
    constraints += "=r,";
  for (size_t n = 0; n < registers.size(); ++n)
    constraints += (n ? "," : "") + std::to_string(n);
  // A structure of one register would be no structure in LLVM.
  if (registers.size() == 1)
    return {LLVM::InlineAsmOp::create(
                b, b.getI32Type(), registers, "", constraints,
                /*has_side_effects=*/true, /*is_align_stack=*/false,
                LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                .getRes()};
  SmallVector<Value> ready =
      assembly(b, "", constraints, registers.size(), registers);
  ArrayRef<Value> rest = ready;
  for (Type type : op.getReady().getTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    size_t count = vector ? vector.getNumElements() : 1;
    results.push_back(pack(b, type, rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  return results;
}

static ValueRange lower(CpOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05CpSrcFormatAttr packing;
  if (op.getPacking())
    packing = NVVM::Tcgen05CpSrcFormatAttr::get(
        b.getContext(), NVVM::Tcgen05CpSrcFormat(unsigned(*op.getPacking())));
  NVVM::Tcgen05CpOp::create(
      b, NVVM::Tcgen05CpShape(unsigned(op.getShape())), groupOf(op),
      NVVM::Tcgen05CpMulticast(unsigned(op.getMulticast())), packing,
      op.getAddress(), op.getSource());
  return {};
}

static ValueRange lower(ShiftOp op, ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05ShiftOp::create(b, op.getAddress(), groupOf(op));
  return {};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// State shared by all products.
struct Product {
  Product(MmaOp op, ImplicitLocOpBuilder &b)
      : op(op), b(b), kind(NVVM::Tcgen05MMAKind(unsigned(op.getKind()))),
        collector(NVVM::Tcgen05MMACollectorOp(unsigned(op.getCollector()))),
        word(i32(b, int32_t(op.getForm().word()))) {}

  void plain() {
    if (Value metadata = op.getMetadata())
      NVVM::Tcgen05MMASparseOp::create(
          b, kind, groupOf(op), collector, op.getAshift(), op.getD(), op.getA(),
          op.getB(), word, op.getAccumulate(), metadata, scaleD(), lanes());
    else
      NVVM::Tcgen05MMAOp::create(
          b, kind, groupOf(op), collector, op.getAshift(), op.getD(), op.getA(),
          op.getB(), word, op.getAccumulate(), scaleD(), lanes());
  }

  void weightStationary() {
    auto buffer = NVVM::Tcgen05MMACollectorBBuffer(op.getBuffer());
    if (Value metadata = op.getMetadata())
      NVVM::Tcgen05MMAWsSparseOp::create(
          b, kind, buffer, collector, op.getD(), op.getA(), op.getB(), word,
          op.getAccumulate(), metadata, op.getZeroColumns());
    else
      NVVM::Tcgen05MMAWsOp::create(b, kind, buffer, collector, op.getD(),
                                   op.getA(), op.getB(), word,
                                   op.getAccumulate(), op.getZeroColumns());
  }

  void scaled() {
    auto block = *op.getBlock() == 16 ? NVVM::Tcgen05MMABlockScale::BLOCK16
                                      : NVVM::Tcgen05MMABlockScale::BLOCK32;
    if (Value metadata = op.getMetadata())
      NVVM::Tcgen05MMASparseBlockScaleOp::create(
          b, scaledKind(), groupOf(op), block, collector, op.getD(), op.getA(),
          op.getB(), word, op.getAccumulate(), metadata, op.getScaleA(),
          op.getScaleB());
    else
      NVVM::Tcgen05MMABlockScaleOp::create(
          b, scaledKind(), groupOf(op), block, collector, op.getD(), op.getA(),
          op.getB(), word, op.getAccumulate(), op.getScaleA(), op.getScaleB());
  }

private:
  NVVM::MMABlockScaleKind scaledKind() {
    if (op.getKind() == MmaKind::MXF8F6F4)
      return NVVM::MMABlockScaleKind::MXF8F6F4;
    return op.getKind() == MmaKind::MXF4 ? NVVM::MMABlockScaleKind::MXF4
                                         : NVVM::MMABlockScaleKind::MXF4NVF4;
  }
  Value scaleD() { return op.getScaleD() ? i64(b, op.getScaleD()) : Value(); }
  Value lanes() {
    if (op.getDisabled().empty())
      return {};
    SmallVector<Value> words(op.getDisabled());
    return pack(b, VectorType::get(int64_t(words.size()), b.getI32Type()),
                words);
  }

  MmaOp op;
  ImplicitLocOpBuilder &b;
  NVVM::Tcgen05MMAKind kind;
  NVVM::Tcgen05MMACollectorOp collector;
  Value word;
};

} // namespace

static ValueRange lower(MmaOp op, ImplicitLocOpBuilder &b) {
  Product product(op, b);
  if (op.getWs())
    product.weightStationary();
  else if (op.getBlock())
    product.scaled();
  else
    product.plain();
  return {};
}

namespace {

/// Replaces an op by what lower() builds for it.
template <typename OpTy> struct Lower : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> results = llvm::to_vector(lower(op, b));
    rewriter.replaceOp(op, results);
    return success();
  }
};

template <typename... OpTys> void addPatterns(RewritePatternSet &patterns) {
  patterns.add<Lower<OpTys>...>(patterns.getContext());
}

struct ConvertTcgen05ToNVVMPass
    : public fmha::impl::ConvertTcgen05ToNVVMBase<ConvertTcgen05ToNVVMPass> {
  void runOnOperation() override {
    if (failed(GroupCheck(getOperation()).run()) ||
        failed(checkTargets(getOperation())))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    addPatterns<AllocOp, RelinquishOp, DeallocOp, FenceOp, CommitOp, LdOp,
                LdRedOp, StOp, WaitOp, CpOp, ShiftOp, MmaOp>(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<Tcgen05Dialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
