//===- LayoutAttrs.cpp - Layouts as attributes, and those of places -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/Algebra/CheckedText.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
namespace algebra = fmha::layout::algebra;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Passes one token of the text of a layout, and counts open angle brackets.
/// Returns false at the one that ends the text, which is not passed, and at a
/// token that no layout has.
static bool passToken(AsmParser &parser, unsigned &open, bool &atEnd) {
  StringRef word;
  int64_t number;
  if (succeeded(parser.parseOptionalLess()))
    return ++open;
  if (succeeded(parser.parseOptionalGreater())) {
    atEnd = open == 0;
    return open-- != 0;
  }
  if (OptionalParseResult integer = parser.parseOptionalInteger(number);
      integer.has_value())
    return succeeded(*integer);
  return succeeded(parser.parseOptionalLParen()) ||
         succeeded(parser.parseOptionalRParen()) ||
         succeeded(parser.parseOptionalComma()) ||
         succeeded(parser.parseOptionalColon()) ||
         succeeded(parser.parseOptionalKeyword(&word));
}

/// Passes `<...>` and returns the text in between. The layout algebra reads it,
/// because its forms are those of fmha-layout.
static FailureOr<StringRef> parseText(AsmParser &parser) {
  if (parser.parseLess())
    return failure();
  const char *begin = parser.getCurrentLocation().getPointer(), *end = begin;
  unsigned open = 0;
  bool atEnd = false;
  do
    end = parser.getCurrentLocation().getPointer();
  while (passToken(parser, open, atEnd));
  if (atEnd)
    return StringRef(begin, end - begin);
  return parser.emitError(parser.getCurrentLocation(),
                          "expected the text of a layout until '>'");
}

/// Parses an attribute by a reader of the layout algebra. An error is at the
/// character that does not fit.
template <typename AttrT, typename T>
static Attribute parseValue(AsmParser &parser,
                            algebra::Checked<T> (*read)(std::string_view)) {
  FailureOr<StringRef> text = parseText(parser);
  if (failed(text))
    return {};
  algebra::Checked<T> result = read(std::string_view(*text));
  if (result.value)
    return AttrT::get(parser.getContext(), *result.value);
  parser.emitError(SMLoc::getFromPointer(text->data() + result.position),
                   result.error);
  return {};
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  return parseValue<LayoutAttr>(parser, algebra::readLayout);
}
Attribute ThreadValuesAttr::parse(AsmParser &parser, Type) {
  return parseValue<ThreadValuesAttr>(parser, algebra::readThreadValue);
}
Attribute TiledCopyAttr::parse(AsmParser &parser, Type) {
  return parseValue<TiledCopyAttr>(parser, algebra::readTiledCopy);
}
Attribute TiledMmaAttr::parse(AsmParser &parser, Type) {
  return parseValue<TiledMmaAttr>(parser, algebra::readTiledMma);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().str() << '>';
}
void ThreadValuesAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().str() << '>';
}
void TiledCopyAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().str() << '>';
}
void TiledMmaAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().str() << '>';
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Attribute SmemAttr::getLayout(ArrayRef<int64_t> shape, Type type) const {
  // Panels hold 16-bit elements; other tiles have no gap and no swizzle.
  if (type.getIntOrFloatBitWidth() == 16) {
    algebra::ComposedLayout panels = algebra::panelTile(shape[0], shape[1]);
    // Columns of a panel are swizzled as those of the whole panel.
    panels.offset = getOffset() % layout::PanelTile::rowBytes / 2;
    return LayoutAttr::get(getContext(), panels);
  }
  auto rows = algebra::IntTuple::tuple({shape[0], shape[1]});
  return LayoutAttr::get(getContext(),
                         {{}, 0, algebra::Layout::rowMajor(rows)});
}

Attribute TmemAttr::getLayout(ArrayRef<int64_t> shape, Type type) const {
  return LayoutAttr::get(
      getContext(),
      {{},
       0,
       algebra::tmemTile(shape[0], shape[1], type.getIntOrFloatBitWidth(),
                         getHalf())});
}

Attribute RegistersAttr::getLayout(ArrayRef<int64_t> shape, Type) const {
  return ThreadValuesAttr::get(
      getContext(),
      algebra::rowTile(shape[0], shape[1], getSlices(), getHalf()));
}

Attribute FragmentAttr::getLayout(ArrayRef<int64_t> shape, Type) const {
  return ThreadValuesAttr::get(getContext(),
                               algebra::fragmentTile(shape[0], shape[1]));
}

Attribute TileType::getLayout() const {
  auto place = dyn_cast_or_null<PlaceAttrInterface>(getPlace());
  if (!place || getShape().size() != 2)
    return {};
  return place.getLayout(getShape(), getElementType());
}

/// Returns the places in registers whose rules for rows and columns hold.
static SmallVector<PlaceAttrInterface>
placesInRegisters(MLIRContext *ctx, int64_t rows, int64_t columns) {
  constexpr int64_t half = 64, step = 8, mostSlices = 16, largest = 1 << 20;
  constexpr unsigned sameWarp = layout::tmemHalfLanes;
  SmallVector<PlaceAttrInterface> places;
  if (rows < 1 || columns < 1 || rows > largest || columns > largest)
    return places;
  if ((rows == half || rows == 2 * half) && columns % step == 0)
    places.push_back(FragmentAttr::get(ctx));
  if (rows != half)
    places.push_back(RegistersAttr::get(ctx, /*slices=*/1, sameWarp));
  for (int64_t slices = 1; rows == half && slices <= mostSlices; slices *= 2)
    if (columns % (2 * slices) == 0)
      places.push_back(RegistersAttr::get(ctx, unsigned(slices), sameWarp));
  if (rows == half && columns % 2 == 0)
    places.push_back(
        RegistersAttr::get(ctx, /*slices=*/1, layout::tmemPairLanes));
  return places;
}

Attribute
ThreadValuesAttr::findPlace(function_ref<InFlightDiagnostic()> emitError,
                            ArrayRef<int64_t> shape, Type elementType) const {
  SmallVector<PlaceAttrInterface> places;
  if (shape.size() == 2)
    places = placesInRegisters(getContext(), shape[0], shape[1]);
  for (PlaceAttrInterface place : places) {
    auto layout = cast<ThreadValuesAttr>(place.getLayout(shape, elementType));
    if (algebra::isSameMap(layout.getValue(), getValue()))
      return place;
  }
  InFlightDiagnostic error = emitError();
  error << "expected the layout of a tile of rank 2 in registers";
  // Slices are variants of the second one.
  for (PlaceAttrInterface place : ArrayRef(places).take_front(2))
    error << ", " << place.getLayout(shape, elementType) << " (" << place
          << ')';
  error << ", got " << *this;
  return {};
}
