"""Softmax over the dimension S, as programs write it: each takes a function and its scores."""

from linalg_text import Tensor


def softmax_op(f, s):
    out = f.empty(s.dims, s.element)
    return f.emit(f"linalg.softmax dimension({s.dims.index('S')}) ins({s.name} : {f.typed(s)}) outs({out.name} : {f.typed(out)}) "
                  f"-> {f.typed(out)}", s.dims, s.element)


def reduce_generic(f, s, op, init, keep=False, swap=False):
    rows = tuple(d for d in s.dims if d != "S")
    out_dims = ["0" if d == "S" else d for d in s.dims] if keep else rows
    dims = tuple("1" if d == "S" else d for d in s.dims) if keep else rows
    operands = "%out, %a" if swap else "%a, %out"
    return f.generic(list(s.dims), [(s, s.dims)], f.fill(init, dims, s.element), "S",
                     [f"%x = {op} {operands} : {s.element}", "%x"], out_dims)


def reduce_named(f, s, op, init):
    rows = tuple(d for d in s.dims if d != "S")
    out = f.fill(init, rows, s.element)
    return f.emit(f"linalg.reduce {{ {op} }} ins({s.name} : {f.typed(s)}) outs({out.name} : {f.typed(out)}) "
                  f"dimensions = [{s.dims.index('S')}]", rows, s.element)


def softmax_generic(f, s, max_op="arith.maximumf", init="-inf", keep=False, fused=False, reciprocal=False, swap=False):
    e = s.element
    top = reduce_generic(f, s, max_op, init, keep, swap)
    if fused:
        p = f.elementwise([s, top], s.dims, e, [f"%d = arith.subf %a, %b : {e}", f"%x = math.exp %d : {e}", "%x"])
    else:
        shifted = f.elementwise([s, top], s.dims, e, [f"%d = arith.subf %a, %b : {e}", "%d"])
        p = f.elementwise([shifted], s.dims, e, [f"%x = math.exp %a : {e}", "%x"])
    total = reduce_generic(f, p, "arith.addf", 0, keep, swap)
    if reciprocal:
        one = f.scalar(1, e)
        inverse = f.elementwise([total], total.dims, e, [f"%x = arith.divf {one}, %a : {e}", "%x"])
        return f.elementwise([p, inverse], s.dims, e, [f"%x = arith.mulf %a, %b : {e}", "%x"])
    return f.elementwise([p, total], s.dims, e, [f"%x = arith.divf %a, %b : {e}", "%x"])


def softmax_named(f, s):
    """linalg.reduce, linalg.broadcast and named elementwise ops."""
    e = s.element
    top = f.broadcast(reduce_named(f, s, "arith.maximumf", "-inf"), s.dims)
    p = f.named("linalg.exp", [f.named("linalg.sub", [s, top], s.dims, e)], s.dims, e)
    total = f.broadcast(reduce_named(f, p, "arith.addf", 0), s.dims)
    return f.named("linalg.div", [p, total], s.dims, e)


def softmax_arith(f, s):
    top = f.broadcast(reduce_named(f, s, "arith.maxnumf", "lowest"), s.dims)
    p = f.arith("math.exp", f.arith("arith.subf", s, top))
    total = f.broadcast(reduce_named(f, p, "arith.addf", 0), s.dims)
    return f.arith("arith.divf", p, total)


def softmax_expand(f, s):
    """Rows become [.., 1] by a reshape, as StableHLO's reshape and broadcast do."""
    e, last = s.element, len(s.dims) - 2
    kept = (*s.dims[:-1], "1")
    groups = [[n] for n in range(last)] + [[last, last + 1]]
    minus = f.fill("-inf", s.dims[:-1], e)
    top = f.arith("arith.maximumf", minus, reduce_named(f, s, "arith.maximumf", "-inf"))
    top = f.expand(top, groups, kept)
    p = f.elementwise([s, top], s.dims, e, [f"%d = arith.subf %a, %b : {e}", f"%x = math.exp %d : {e}", "%x"])
    total = f.expand(reduce_named(f, p, "arith.addf", 0), groups, kept)
    return f.elementwise([p, total], s.dims, e, [f"%x = arith.divf %a, %b : {e}", "%x"])


def softmax_map(f, s):
    """linalg.map, as StableHLO's primitive ops become."""
    e = s.element

    def mapped(op, *inputs):
        out = f.empty(s.dims, e)
        return f.emit(f"linalg.map {{ {op} }} ins({', '.join(t.name for t in inputs)} : {', '.join(map(f.typed, inputs))}) "
                      f"outs({out.name} : {f.typed(out)})", s.dims, e)

    top = f.broadcast(reduce_named(f, s, "arith.maximumf", "-inf"), s.dims)
    p = mapped("math.exp", mapped("arith.subf", s, top))
    total = f.broadcast(reduce_named(f, p, "arith.addf", 0), s.dims)
    return mapped("arith.divf", p, total)


def softmax_elementwise(f, s):
    e = s.element

    def one(kind, *inputs):
        out = f.empty(s.dims, e)
        return f.emit(f"linalg.elementwise kind=#linalg.elementwise_kind<{kind}> ins({', '.join(t.name for t in inputs)} : "
                      f"{', '.join(map(f.typed, inputs))}) outs({out.name} : {f.typed(out)}) -> {f.typed(out)}", s.dims, e)

    top = f.broadcast(reduce_named(f, s, "arith.maximumf", "-inf"), s.dims)
    p = one("exp", one("sub", s, top))
    total = f.broadcast(reduce_named(f, p, "arith.addf", 0), s.dims)
    return one("div", p, total)


def softmax_argmax(f, s):
    """The maximum comes with its index, as torch-mlir lowers aten.max.dim with keepdim."""
    e, loops = s.element, s.dims
    kept = tuple("1" if d == "S" else d for d in loops)
    places = ["0" if d == "S" else d for d in loops]
    index = f.empty(kept, "i64")
    zero = f.fresh()
    f.line(f"{zero} = arith.constant 0 : i64")
    index = f.emit(f"linalg.fill ins({zero} : i64) outs({index.name} : {f.typed(index)}) -> {f.typed(index)}", kept, "i64")
    start = f.fill("-inf", kept, e)
    kinds = ", ".join(f'"{"reduction" if d == "S" else "parallel"}"' for d in loops)
    name = f.fresh()
    f.line(f"{name}:2 = linalg.generic {{indexing_maps = {f.maps(list(loops), [loops, places, places])}, iterator_types = [{kinds}]}} "
           f"ins({s.name} : {f.typed(s)}) outs({start.name}, {index.name} : {f.typed(start)}, {f.typed(index)}) {{")
    f.line(f"^bb0(%a: {e}, %out: {e}, %at: i64):")
    for text in (f"%n = linalg.index {loops.index('S')} : index", "%m = arith.index_cast %n : index to i64",
                 f"%x = arith.maximumf %a, %out : {e}", f"%g = arith.cmpf ogt, %a, %out : {e}",
                 "%y = arith.select %g, %m, %at : i64", f"linalg.yield %x, %y : {e}, i64"):
        f.line("  " + text)
    f.line(f"}} -> ({f.typed(start)}, {f.typed(index)})")
    top = Tensor(name + "#0", kept, e)
    shifted = f.elementwise([s, top], s.dims, e, [f"%d = arith.subf %a, %b : {e}", "%d"])
    p = f.elementwise([shifted], s.dims, e, [f"%x = math.exp %a : {e}", "%x"])
    total = reduce_generic(f, p, "arith.addf", 0, keep=True)
    return f.elementwise([p, total], s.dims, e, [f"%x = arith.divf %a, %b : {e}", "%x"])


def softmax_select(f, s):
    """The maximum by comparison and select."""
    e = s.element
    rows = tuple(d for d in s.dims if d != "S")
    top = f.generic(list(s.dims), [(s, s.dims)], f.fill("-inf", rows, e), "S",
                    [f"%g = arith.cmpf ogt, %a, %out : {e}", f"%x = arith.select %g, %a, %out : {e}", "%x"])
    p = f.elementwise([s, top], s.dims, e, [f"%d = arith.subf %a, %b : {e}", f"%x = math.exp %d : {e}", "%x"])
    total = reduce_generic(f, p, "arith.addf", 0)
    return f.elementwise([p, total], s.dims, e, [f"%x = arith.divf %a, %b : {e}", "%x"])


def softmax_wide(f, s):
    """Softmax in f32 of narrower scores, rounded afterwards."""
    return f.cast(softmax_generic(f, f.cast(s, "f32", "generic")), s.element, "generic")


def softmax_negated(f, s):
    """s + (-max)."""
    e = s.element
    top = reduce_generic(f, s, "arith.maximumf", "-inf")
    p = f.elementwise([s, top], s.dims, e, [
        f"%n = arith.negf %b : {e}", f"%d = arith.addf %a, %n : {e}", f"%x = math.exp %d : {e}", "%x"])
    total = reduce_generic(f, p, "arith.addf", 0)
    return f.elementwise([p, total], s.dims, e, [f"%x = arith.divf %a, %b : {e}", "%x"])


def softmax_again(f, s):
    """The exponentials are computed twice, in the sum and in the quotient."""
    e = s.element
    top = reduce_generic(f, s, "arith.maximumf", "-inf")
    rows = top.dims
    total = f.generic(list(s.dims), [(s, s.dims), (top, rows)], f.fill(0, rows, e), "S", [
        f"%d = arith.subf %a, %b : {e}", f"%p = math.exp %d : {e}", f"%x = arith.addf %out, %p : {e}", "%x"])
    return f.elementwise([s, top, total], s.dims, e, [
        f"%d = arith.subf %a, %b : {e}", f"%p = math.exp %d : {e}", f"%x = arith.divf %p, %c : {e}", "%x"])


def softmax_safe(f, s, hidden=True):
    """0 for rows of -inf alone, as PyTorch's _safe_softmax."""
    p, e = softmax_generic(f, s, keep=True), s.element
    minus, zero = f.scalar("-inf", e), f.scalar(0, e)
    start = f.fresh()
    f.line(f"{start} = arith.constant {str(hidden).lower()}")
    rows = tuple("1" if d == "S" else d for d in s.dims)
    places = ["0" if d == "S" else d for d in s.dims]
    start = f.emit(f"tensor.splat {start}[{', '.join(f.sizes[d] for d in rows if d not in f.extents)}] : {f.type(rows, 'i1')}", rows, "i1")
    test = f.elementwise([s], s.dims, "i1", [f"%x = arith.cmpf {'oeq' if hidden else 'une'}, %a, {minus} : {e}", "%x"])
    rows = f.generic(list(s.dims), [(test, s.dims)], start, "S", [f"%x = arith.{'andi' if hidden else 'ori'} %a, %out : i1", "%x"], places)
    kept = f"{zero}, %b" if hidden else f"%b, {zero}"
    return f.elementwise([rows, p], s.dims, e, [f"%x = arith.select %a, {kept} : {e}", "%x"])


SOFTMAXES = {
    "op": softmax_op,
    "generic": softmax_generic,
    "maxnum": lambda f, s: softmax_generic(f, s, max_op="arith.maxnumf"),
    "lowest": lambda f, s: softmax_generic(f, s, init="lowest"),
    "keep": lambda f, s: softmax_generic(f, s, keep=True),
    "fused": lambda f, s: softmax_generic(f, s, fused=True),
    "reciprocal": lambda f, s: softmax_generic(f, s, reciprocal=True),
    "swap": lambda f, s: softmax_generic(f, s, swap=True),
    "named": softmax_named,
    "arith": softmax_arith,
    "expand": softmax_expand,
    "map": softmax_map,
    "elementwise": softmax_elementwise,
    "argmax": softmax_argmax,
    "select": softmax_select,
    "wide": softmax_wide,
    "negated": softmax_negated,
    "again": softmax_again,
    "safe": softmax_safe,
    "safe_any": lambda f, s: softmax_safe(f, s, hidden=False),
}
