//===- TileToNVVM.cpp - Lower machine-level kernels to NVVM functions -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "Threads/RowCode.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Kernel/ProgramAbi.h"
#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTTILETONVVM
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

/// Bytes of a tensor map, which only the driver encodes.
static constexpr unsigned tensorMapBytes = 128;
static constexpr int32_t warpThreads = target::warpThreads;

/// The types of a program's operands, kept on its llvm.func, whose memrefs have
/// become pointers.
static constexpr StringLiteral operandsName = "tile.operands";

static std::vector<KernelParameter> parametersOfProgram(ArrayRef<Type> types) {
  // readKernelInfo() has checked them.
  return *programParameters(
      types, []() -> InFlightDiagnostic { return InFlightDiagnostic(); });
}

static std::vector<KernelParameter>
parametersOfKernel(FunctionOpInterface func) {
  if (auto types = func->getAttrOfType<ArrayAttr>(operandsName))
    return parametersOfProgram(
        llvm::to_vector(types.getAsValueRange<TypeAttr>()));
  schedule::Problem problem = tile::readOptionalOperands(func);
  schedule::Schedule schedule = tile::scheduleOf(func);
  size_t known = isa<LLVM::LLVMFuncOp>(func)
                     ? kernelParameters(problem, schedule).size()
                     : kernelOperands(problem).size();
  problem.lse |= func.getNumArguments() > known;
  return kernelParameters(problem, schedule);
}

std::vector<KernelParameter> fmha::parametersOf(Operation *op) {
  return parametersOfKernel(op->getParentOfType<LLVM::LLVMFuncOp>());
}

/// Marks poison that stands for a parameter that the kernel lacks.
constexpr StringLiteral missingName = "fmha.missing_parameter";

/// Returns the type that a parameter of this name would have.
static Type typeOfMissing(Operation *op, StringRef name) {
  MLIRContext *context = op->getContext();
  if (name.contains("_stride"))
    return IntegerType::get(context, 64);
  bool isCount = name == "pages" || name.ends_with("_len") ||
                 name == "positions" || name == "tiles";
  return isCount ? Type(IntegerType::get(context, 32))
                 : Type(LLVM::LLVMPointerType::get(context, 1));
}

Value fmha::parameterOf(Operation *op, const std::string &name) {
  auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
  if (auto index = parameterIndex(parametersOf(op), name))
    return func.getArgument(*index);
  // An op that lacks one parameter may lack several.
  if (!op->hasAttr(missingName))
    op->emitOpError() << "expected a kernel with the parameter '" << name
                      << "', which follows from its problem, got one without; "
                         "use the op in a kernel whose problem has it";
  op->setAttr(missingName, UnitAttr::get(op->getContext()));
  OpBuilder builder(op);
  auto missing =
      LLVM::PoisonOp::create(builder, op->getLoc(), typeOfMissing(op, name));
  missing->setAttr(missingName, builder.getUnitAttr());
  return missing;
}

Value fmha::addressOfRow(ImplicitLocOpBuilder &b, Operation *op, Value tensor,
                         Value base, Type element, ArrayRef<Value> row) {
  std::string name =
      parametersOf(op)[cast<BlockArgument>(tensor).getArgNumber()].name;
  auto strides =
      llvm::map_to_vector(schedule::outputStrides, [&](const char *stride) {
        return parameterOf(op, name + stride);
      });
  return LLVM::GEPOp::create(
      b, base.getType(), element, base,
      ArrayRef<LLVM::GEPArg>{offsetOfRow(b, row, strides)});
}

static Type parameterType(KernelParameter::Kind kind, MLIRContext *ctx) {
  switch (kind) {
  case KernelParameter::Kind::TensorMap:
    return LLVM::LLVMPointerType::get(ctx);
  case KernelParameter::Kind::Pointer:
    return LLVM::LLVMPointerType::get(ctx, 1);
  case KernelParameter::Kind::U64:
    return IntegerType::get(ctx, 64);
  case KernelParameter::Kind::U32:
    return IntegerType::get(ctx, 32);
  }
  llvm_unreachable("every kind is listed");
}

/// Returns the parameter type of a memref: at rank 4 a tensor map, or the
/// pointer of an f32 output; at rank 3 the pointer of a row output such as the
/// LSE; at rank 1 that of varlen metadata. Captures have a memory space.
static Type convertMemref(MemRefType type) {
  MLIRContext *ctx = type.getContext();
  if (isa_and_nonnull<gpu::AddressSpaceAttr>(type.getMemorySpace()))
    return parameterType(KernelParameter::Kind::Pointer, ctx);
  if (type.getRank() == 4 && !type.getElementType().isF32())
    return parameterType(KernelParameter::Kind::TensorMap, ctx);
  if (type.getRank() == 4 || type.getRank() == 3 || type.getRank() == 1)
    return parameterType(KernelParameter::Kind::Pointer, ctx);
  return {};
}

namespace {

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

///   gpu.func @f(%q: memref, ...) kernel
/// ->
///   llvm.func @f(%q: !llvm.ptr {byval}, ...)
struct LowerKernel : public OpConversionPattern<gpu::GPUFuncOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::vector<KernelParameter> parameters =
        op->hasAttr("tile.kernel") ? parametersOfProgram(op.getArgumentTypes())
                                   : parametersOfKernel(op);
    SmallVector<Type> types;
    for (const KernelParameter &parameter : parameters)
      types.push_back(parameterType(parameter.kind, getContext()));
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(getContext()), types);
    auto func =
        LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(), type);
    setAttributes(func, op, parameters);

    // Operand n becomes parameter n; the rest follow.
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    for (unsigned n = 0; n < op.getNumArguments(); ++n)
      signature.addInputs(n, types[n]);
    signature.addInputs(ArrayRef<Type>(types).drop_front(op.getNumArguments()));
    rewriter.inlineRegionBefore(op.getBody(), func.getBody(), func.end());
    rewriter.applySignatureConversion(&func.getBody().front(), signature,
                                      getTypeConverter());
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Returns the registers of a thread. Where none gives some to another one,
  /// code generation has the last ones of its share as well.
  static int32_t mostRegisters(const schedule::Schedule &schedule,
                               int32_t threads) {
    unsigned atLaunch =
        schedule::registersAtLaunch(threads, schedule.ctasPerSm);
    unsigned share = target::Target::registersPerSm /
                     (unsigned(threads) * std::max(schedule.ctasPerSm, 1u));
    constexpr unsigned most = 255;
    return schedule::usesAddresses(schedule) && share > most ? most : atLaunch;
  }
  void setAttributes(LLVM::LLVMFuncOp func, gpu::GPUFuncOp op,
                     ArrayRef<KernelParameter> parameters) const {
    OpBuilder b(getContext());
    func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    for (StringRef name : {"fmha.schedule", "fmha.problem", "tile.kernel"})
      if (Attribute attribute = op->getAttr(name))
        func->setAttr(name, attribute);
    if (op->hasAttr("tile.kernel"))
      func->setAttr(operandsName, b.getTypeArrayAttr(op.getArgumentTypes()));
    if (op->hasAttr("fmha.schedule"))
      if (auto ctas = int32_t(tile::scheduleOf(op).ctaGroup); ctas > 1)
        func->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr({ctas, 1, 1}));
    if (auto size = op.getKnownBlockSizeAttr()) {
      func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), size);
      // setmaxnreg needs the registers that a thread starts with; ptxas ignores
      // it without this attribute.
      int32_t threads = size[0] * size[1] * size[2];
      func->setAttr(
          NVVM::NVVMDialect::getMaxnregAttrName(),
          b.getI32IntegerAttr(mostRegisters(tile::scheduleOf(op), threads)));
    }
    // Subnormals are flushed: emulated exponentials give them for hidden keys,
    // and preserving them costs instructions around every ex2.
    func.setPassthroughAttr(b.getArrayAttr(b.getStrArrayAttr(
        {"denormal-fp-math-f32", "preserve-sign,preserve-sign"})));
    auto map = LLVM::LLVMArrayType::get(b.getI8Type(), tensorMapBytes);
    for (auto [n, parameter] : llvm::enumerate(parameters)) {
      if (parameter.kind != KernelParameter::Kind::TensorMap)
        continue;
      func.setArgAttr(n, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(map));
      func.setArgAttr(n, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(64));
      func.setArgAttr(n, NVVM::NVVMDialect::getGridConstantAttrName(),
                      b.getUnitAttr());
    }
  }
};

struct LowerReturn : public OpConversionPattern<gpu::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Extents, and stores of threads
//===----------------------------------------------------------------------===//

/// Returns the parameter that holds an extent of operand `number`, if any.
static std::optional<std::string> nameOfExtent(Operation *op, unsigned number,
                                               int64_t dimension) {
  std::string operand = parametersOf(op)[number].name;
  if (op->getParentOfType<LLVM::LLVMFuncOp>()->hasAttr("tile.kernel"))
    return programExtent(operand, dimension);
  return extentParameter(operand, dimension);
}

/// memref.dim %q, 1 -> the parameter q_len
struct LowerDim : public OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto operand = dyn_cast<BlockArgument>(adaptor.getSource());
    std::optional<int64_t> dimension = op.getConstantIndex();
    auto type = cast<MemRefType>(op.getSource().getType());
    if (!operand || !dimension || *dimension < 0 ||
        *dimension >= type.getRank())
      return op.emitOpError()
             << "expected a constant dimension of a parameter of the kernel, "
                "from 0 to "
             << type.getRank() - 1
             << ", got another one; write the index as arith.constant";
    if (!type.isDynamicDim(*dimension)) {
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(
          op, type.getDimSize(*dimension));
      return success();
    }
    auto name = nameOfExtent(op, operand.getArgNumber(), *dimension);
    if (!name)
      return rewriter.notifyMatchFailure(op, "no parameter holds this extent");
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, rewriter.getIndexType(), parameterOf(op, *name));
    return success();
  }
};

/// Returns the address of an element of operand `memref`, with 64-bit offsets,
/// since a batch may be large. `strides` are the suffixes of the parameters.
static Value elementAddress(ImplicitLocOpBuilder &b, Operation *op,
                            Value memref, ValueRange indices,
                            ArrayRef<std::string> strides) {
  Value offset;
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    Value wide = arith::ExtUIOp::create(
        b, b.getI64Type(),
        arith::IndexCastOp::create(b, b.getI32Type(), index));
    Value term = wide;
    if (!stride.empty())
      term = LLVM::MulOp::create(b, wide, parameterOf(op, stride));
    offset = offset ? Value(LLVM::AddOp::create(b, offset, term)) : term;
  }
  return LLVM::GEPOp::create(b, memref.getType(), b.getF32Type(), memref,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Lowers stores to lse[b, h, r], row_max[b, h, r], ...
struct LowerRowStore : public OpConversionPattern<memref::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto operand = dyn_cast<BlockArgument>(adaptor.getMemref());
    if (!operand || op.getIndices().size() != 3)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string name = parametersOf(op)[operand.getArgNumber()].name;
    SmallVector<std::string> strides;
    for (const char *stride : schedule::rowStrides)
      strides.push_back(name + stride);
    Value address = elementAddress(b, op, operand, op.getIndices(), strides);
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), address);
    return success();
  }
};

/// vector.store %x, %o[b, i, h, d]: strides are multiples of 16 bytes, columns
/// multiples of the vector's length.
struct LowerOutputStore : public OpConversionPattern<vector::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(vector::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    unsigned alignment = op.getVectorType().getNumElements() * sizeof(float);
    auto operand = dyn_cast<BlockArgument>(adaptor.getBase());
    if (!operand || op.getIndices().size() != 4)
      return rewriter.notifyMatchFailure(op, "not an output in f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string name = parametersOf(op)[operand.getArgNumber()].name;
    SmallVector<std::string> strides;
    for (const char *stride : schedule::outputStrides)
      strides.push_back(name + stride);
    strides.push_back("");
    Value address = elementAddress(b, op, operand, op.getIndices(), strides);
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValueToStore(),
                                               address, alignment);
    return success();
  }
};

/// %n = memref.load %kv_lens[%i]: contiguous and read-only.
struct LowerLengthLoad : public OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getIndices().size() != 1)
      return rewriter.notifyMatchFailure(op, "not varlen metadata");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value at =
        arith::IndexCastOp::create(b, b.getI64Type(), op.getIndices().front());
    Value address =
        LLVM::GEPOp::create(b, adaptor.getMemref().getType(), op.getType(),
                            adaptor.getMemref(), ArrayRef<LLVM::GEPArg>{at});
    auto load =
        rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), address);
    load.setInvariant(true);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Indices and functions without an LLVM intrinsic on this target
//===----------------------------------------------------------------------===//

struct LowerThreadId : public OpConversionPattern<gpu::ThreadIdOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::ThreadIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return rewriter.notifyMatchFailure(op, "kernels use dimension x only");
    Value id =
        NVVM::ThreadIdXOp::create(rewriter, op.getLoc(), rewriter.getI32Type());
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, rewriter.getIndexType(), id);
    return success();
  }
};

struct LowerBlockId : public OpConversionPattern<gpu::BlockIdOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::BlockIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return rewriter.notifyMatchFailure(op, "kernels use dimension x only");
    Value id =
        NVVM::BlockIdXOp::create(rewriter, op.getLoc(), rewriter.getI32Type());
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, rewriter.getIndexType(), id);
    return success();
  }
};

struct LowerGridDim : public OpConversionPattern<gpu::GridDimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::GridDimOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return rewriter.notifyMatchFailure(op, "kernels use dimension x only");
    Value count =
        NVVM::GridDimXOp::create(rewriter, op.getLoc(), rewriter.getI32Type());
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, rewriter.getIndexType(), count);
    return success();
  }
};

/// tile.tile_count -> the parameter tiles
struct LowerTileCount : public OpConversionPattern<tile::TileCountOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::TileCountOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!parameterIndex(parametersOf(op), "tiles"))
      return op.emitError() << "expected a kernel whose schedule has scheduler "
                               "= static, whose launch passes the number of "
                               "tiles, got another one";
    rewriter.replaceOp(op, parameterOf(op, "tiles"));
    return success();
  }
};

/// %n = atom.inc [tile_counter], tiles - 1
/// %tile = %n < tiles - grid ? %n + grid : -1
struct LowerDrawTile : public OpConversionPattern<tile::DrawTileOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::DrawTileOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!parameterIndex(parametersOf(op), "tile_counter"))
      return op.emitError()
             << "expected a kernel for sm_90a whose schedule has "
                "scheduler = dynamic, whose launch passes a "
                "tile_counter, got another one";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type i32 = b.getI32Type();
    auto number = [&](int32_t n) -> Value {
      return LLVM::ConstantOp::create(b, i32, n);
    };
    Value tiles = parameterOf(op, "tiles");
    Value drawn = LLVM::AtomicRMWOp::create(
        b, LLVM::AtomicBinOp::uinc_wrap, parameterOf(op, "tile_counter"),
        LLVM::SubOp::create(b, tiles, number(1)),
        LLVM::AtomicOrdering::monotonic, "device");
    Value grid = NVVM::GridDimXOp::create(b, i32);
    Value isThere = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ult, drawn,
                                         LLVM::SubOp::create(b, tiles, grid));
    Value tile = LLVM::AddOp::create(b, drawn, grid);
    rewriter.replaceOpWithNewOp<LLVM::SelectOp>(op, isThere, tile, number(-1));
    return success();
  }
};

/// gpu.shuffle xor %x, %offset, %width -> shfl.sync.bfly of the whole warp
struct LowerShuffle : public OpConversionPattern<gpu::ShuffleOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    bool whole = getConstantIntValue(op.getWidth()) == int64_t(warpThreads);
    if (op.getMode() != gpu::ShuffleMode::XOR || !whole ||
        !op.getValid().use_empty())
      return rewriter.notifyMatchFailure(
          op, "kernels exchange with another thread of the whole warp only");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto i32 = [&](int32_t value) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(),
                                      b.getI32IntegerAttr(value));
    };
    Value value = NVVM::ShflOp::create(b, op.getValue().getType(), i32(-1),
                                       adaptor.getValue(), adaptor.getOffset(),
                                       i32(warpThreads - 1),
                                       NVVM::ShflKind::bfly, UnitAttr());
    Value valid = arith::ConstantOp::create(b, b.getBoolAttr(true));
    rewriter.replaceOp(op, {value, valid});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct ConvertTileToNVVMPass
    : public fmha::impl::ConvertTileToNVVMBase<ConvertTileToNVVMPass> {
  void runOnOperation() override {
    if (!hasKernel())
      return;
    if (failed(checkKernels()))
      return signalPassFailure();
    declareSharedMemory();
    separateRegistersOfA(getOperation());
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](MemRefType type) { return convertMemref(type); });
    converter.addConversion([](tile::BarrierType type) -> Type {
      return LLVM::LLVMPointerType::get(type.getContext(), 3);
    });
    RewritePatternSet patterns(&getContext());
    populateMachinePatterns(patterns, converter);
    populateSlotPatterns(patterns, converter);
    populateWgmmaPatterns(patterns, converter);
    populateScorePatterns(patterns, converter);
    populateAppendPatterns(patterns, converter);
    populateRotaryPatterns(patterns, converter);
    populateCopyPatterns(patterns, converter);
    populateFactorPatterns(patterns, converter);
    populateGatherPatterns(patterns, converter);
    populateMmaSyncPatterns(patterns, converter);
    patterns.add<LowerKernel, LowerReturn, LowerDim, LowerRowStore,
                 LowerOutputStore, LowerLengthLoad, LowerThreadId, LowerBlockId,
                 LowerGridDim, LowerTileCount, LowerDrawTile, LowerShuffle>(
        converter, &getContext());
    ConversionTarget target(getContext());
    // Functions that are not kernels stay unchanged.
    target.addDynamicallyLegalDialect<tile::TileDialect, memref::MemRefDialect>(
        isForeign);
    target.addDynamicallyLegalOp<gpu::GPUFuncOp, gpu::ReturnOp, gpu::ThreadIdOp,
                                 gpu::BlockIdOp, gpu::GridDimOp, gpu::ShuffleOp,
                                 math::Log2Op, math::ExpOp, math::LogOp,
                                 vector::StoreOp>(isForeign);
    // LLVM lowers an approximate tanh to tanh.approx.
    target.addDynamicallyLegalOp<math::TanhOp>([](math::TanhOp op) {
      return isForeign(op) ||
             bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn);
    });
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))) ||
        lacksParameters(getOperation()))
      return signalPassFailure();
    separateBases(getOperation());
  }

private:
  /// Returns whether parameterOf() has reported an error.
  static bool lacksParameters(Operation *root) {
    return root
        ->walk([](LLVM::PoisonOp op) {
          return op->hasAttr(missingName) ? WalkResult::interrupt()
                                          : WalkResult::advance();
        })
        .wasInterrupted();
  }
  static bool isForeign(Operation *op) {
    auto func = dyn_cast<gpu::GPUFuncOp>(op);
    if (!func)
      func = op->getParentOfType<gpu::GPUFuncOp>();
    return func && !tile::isTiledKernel(func);
  }

  LogicalResult checkKernels() {
    for (auto func : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!tile::isTiledKernel(func))
        continue;
      if (failed(tile::readKernelInfo(func)) ||
          failed(tile::expectStage(func, tile::KernelStage::Machine,
                                   getArgument())))
        return failure();
      ArrayRef<int32_t> size =
          func.getKnownBlockSize().value_or(ArrayRef<int32_t>());
      if (size.size() != 3 || size[0] < 32 || size[1] != 1 || size[2] != 1)
        return func.emitError() << "expected a known_block_size of whole warps "
                                   "in x, got another one";
    }
    return success();
  }

  bool hasKernel() {
    return llvm::any_of(getOperation().getOps<gpu::GPUFuncOp>(),
                        tile::isTiledKernel);
  }

  /// Declares shared memory as external, so that stores reached only through
  /// descriptors are kept, and aligned to the swizzle pattern.
  void declareSharedMemory() {
    OpBuilder b =
        OpBuilder::atBlockBegin(&getOperation().getBodyRegion().front());
    LLVM::GlobalOp::create(
        b, getOperation().getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, sharedMemorySymbol,
        Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  }
};

} // namespace
