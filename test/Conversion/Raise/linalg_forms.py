"""Writes attention in linalg, in many forms that are combined of parts.

A form is a dict of parts that differ from DEFAULTS; function_text() makes the
function of one. Dimensions are letters: B (batch), H (heads), K (KV heads),
G (query heads of a KV head), N (batch times heads), L (rows), S (keys), D and E
(head dims). Extents that are not in EXTENTS are dynamic.
"""

from linalg_softmax import SOFTMAXES
from linalg_text import Function

EXTENTS = {"B": 2, "H": 4, "K": 2, "G": 2, "N": 8, "D": 8, "E": 16, "R": 3, "1": 1}

DEFAULTS = {
    "rank": 3,  # 1 [D], 2 [L, D], 3 [N, L, D], 4 [B, H, L, D]
    "order": "BHLD",  # how operands of rank 4 are stored
    "element": "f32",
    "accumulate": "f32",  # the type of scores
    "first": "generic",  # generic, matmul, matmul_t, transpose, contract, collapse, swapped
    "second": "generic",
    "scale": "generic",  # none, generic, divide, arith, named, query, key, query_generic, fused, scalar
    "cap": "none",  # none, generic, arith
    "mask": "none",
    "softmax": "op",  # see SOFTMAXES
    "round": "none",  # the probabilities: none, arith, generic
    "narrow": "none",  # the output: none, arith
    "widen": "none",  # operands before the products: none, arith, generic
    "groups": "none",  # KV heads: none, broadcast, repeat_kv, generic, five (dims), shared, floordiv, tiled
    "static": {},  # extents that are known besides
    "dynamic": "",  # letters that are dynamic
}


# ---- products ------------------------------------------------------------------


def product_body(left, right, out):
    lines = []
    names = []
    for name, element in (("a", left), ("b", right)):
        if element != out:
            lines.append(f"%w{name} = arith.extf %{name} : {element} to {out}")
            name = "w" + name
        names.append("%" + name)
    return [*lines, f"%m = arith.mulf {names[0]}, {names[1]} : {out}", f"%s = arith.addf %out, %m : {out}", "%s"]


def product(f, kind, left, right, dims, summed, element):
    """sum left * right over `summed`, a tensor of `dims`."""
    if kind == "collapse":
        return collapsed_product(f, left, right, dims, summed, element)
    zeros = f.fill(0, dims, element)
    if kind == "floordiv":
        # K or V of fewer heads, read by head floordiv 2.
        heads = tuple("H floordiv 2" if d == "K" else d for d in right.dims)
        return f.generic([*dims, summed], [(left, left.dims), (right, heads)], zeros, summed,
                         product_body(left.element, right.element, element))
    if kind in ("generic", "swapped"):
        if kind == "swapped":
            left, right = right, left
        return f.generic([*dims, summed], [(left, left.dims), (right, right.dims)], zeros, summed,
                         product_body(left.element, right.element, element))
    if kind == "constant":
        return f.generic([*dims, summed], [(left, left.dims), (right, right.dims)], f.splat(0, dims, element), summed,
                         product_body(left.element, right.element, element))
    maps = f.maps([*dims, summed], [left.dims, right.dims, dims])
    operands = f"ins({left.name}, {right.name} : {f.typed(left)}, {f.typed(right)}) outs({zeros.name} : {f.typed(zeros)}) -> {f.typed(zeros)}"
    if kind == "contract":
        return f.emit(f"linalg.contract indexing_maps = {maps} {operands}", dims, element)
    if kind == "matmul_t":
        return f.emit(f"linalg.batch_matmul indexing_maps = {maps} {operands}", dims, element)
    # Of batch_matmul the second operand is [batch, summed, columns].
    if right.dims[-2] != summed:
        turned = (*right.dims[:-2], right.dims[-1], right.dims[-2])
        right = f.elementwise([right], turned, right.element, ["%a"]) if kind == "matmul_copy" else f.transpose(right, turned)
    return f.named_into("linalg.batch_matmul", [left, right], zeros)


def collapsed_product(f, left, right, dims, summed, element):
    """A product of rank 4 as a batch_matmul of rank 3, with copies as torch-mlir writes them."""
    flat = []
    for tensor in (left, right):
        copy = f.elementwise([tensor], tensor.dims, tensor.element, ["%a"])
        flat.append(f.collapse(copy, [[0, 1], [2], [3]], ("N", *tensor.dims[2:])))
    made = product(f, "matmul", flat[0], flat[1], ("N", *dims[2:]), summed, element)
    return f.expand(made, [[0, 1], [2], [3]], dims)


# ---- scores --------------------------------------------------------------------

SCALE = 0.25


def scaled(f, scores, form):
    kind, element = form["scale"], scores.element
    if kind == "generic":
        c = f.scalar(SCALE, element)
        return f.elementwise([scores], scores.dims, element, [f"%x = arith.mulf %a, {c} : {element}", "%x"])
    if kind == "divide":
        c = f.splat(1 / SCALE, (), element)
        return f.elementwise([scores, c], scores.dims, element, [f"%x = arith.divf %a, %b : {element}", "%x"])
    if kind == "sqrt":
        c = f.scalar(16, element)
        return f.elementwise([scores], scores.dims, element,
                             [f"%r = math.sqrt {c} : {element}", f"%x = arith.divf %a, %r : {element}", "%x"])
    if kind == "arith":
        return f.arith("arith.mulf", scores, f.splat(SCALE, scores.dims, element))
    if kind == "named":
        return f.named("linalg.mul", [scores, f.fill(SCALE, scores.dims, element)], scores.dims, element)
    if kind == "scalar":
        c = f.argument((), "f32")
        return f.elementwise([scores, c], scores.dims, element, [f"%x = arith.mulf %a, %b : {element}", "%x"])
    return scores


def scaled_operand(f, tensor, form, which):
    if form["scale"] == which:
        return f.arith("arith.mulf", tensor, f.splat(SCALE, tensor.dims, tensor.element))
    if form["scale"] == which + "_generic":
        c = f.scalar(SCALE, tensor.element)
        return f.elementwise([tensor], tensor.dims, tensor.element, [f"%x = arith.mulf {c}, %a : {tensor.element}", "%x"])
    return tensor


def capped(f, scores, form):
    e = scores.element
    if form["cap"] == "generic":
        c = f.scalar(3, e)
        return f.elementwise([scores], scores.dims, e, [
            f"%x = arith.divf %a, {c} : {e}", f"%t = math.tanh %x : {e}", f"%y = arith.mulf %t, {c} : {e}", "%y"])
    if form["cap"] == "arith":
        c = f.splat(3, scores.dims, e)
        bent = f.arith("math.tanh", f.arith("arith.divf", scores, c))
        return f.arith("arith.mulf", bent, c)
    return scores


def index_lines(dims, row, key):
    return [f"%i = linalg.index {dims.index(row)} : index", f"%j = linalg.index {dims.index(key)} : index"]


def masked(f, scores, form):
    kind, dims, e = form["mask"], scores.dims, scores.element
    own = {1: "S", 2: "LS", 3: "NLS", 4: "BHLS", 5: "BKGLS"}[len(dims)]
    minus = f.scalar("-inf", e)
    if kind == "none":
        return scores
    if kind == "product":
        # A relative position bias: a product of other tensors, that stays.
        left, right = f.argument((*own[:-2], "L", "R"), e), f.argument((*own[:-2], "S", "R"), e)
        return f.arith("arith.addf", scores, product(f, "generic", left, right, dims, "R", e))
    if kind.startswith("bias"):
        # bias, bias:LS, bias:B1LS, ...
        shape = kind.partition(":")[2] or own
        bias = f.argument(shape, form["element"] if "wide" not in form else form["wide"])
        if tuple(shape) == dims and bias.element == e:
            return f.arith("arith.addf", scores, bias)
        lines, name = [], "%b"
        if bias.element != e:
            lines, name = [f"%w = arith.extf %b : {bias.element} to {e}"], "%w"
        return f.elementwise([scores, bias], dims, e, [*lines, f"%x = arith.addf %a, {name} : {e}", "%x"])
    if kind.startswith("where"):
        # where, where:LS, wherefinite:B1LS, ...
        word, _, shape = kind.partition(":")
        hidden = minus if word == "where" else f.scalar(-1e4, e)
        mask = f.argument(shape or own, "i1")
        return f.elementwise([scores, mask], dims, e, [f"%x = arith.select %b, %a, {hidden} : {e}", "%x"])
    if kind.startswith("hide"):
        mask = f.argument(kind.partition(":")[2] or own, "i1")
        return f.elementwise([scores, mask], dims, e, [f"%x = arith.select %b, {minus}, %a : {e}", "%x"])
    return masked_by_index(f, scores, kind, minus)


def masked_by_index(f, scores, kind, minus):
    dims, e = scores.dims, scores.element
    at = index_lines(dims, "L", "S")
    select = f"%x = arith.select %m, %a, {minus} : {e}"
    if kind == "causal":
        return f.elementwise([scores], dims, e, [*at, "%m = arith.cmpi sge, %i, %j : index", select, "%x"])
    if kind == "causal_hidden":
        return f.elementwise([scores], dims, e, [
            *at, "%m = arith.cmpi ugt, %j, %i : index", f"%x = arith.select %m, {minus}, %a : {e}", "%x"])
    if kind == "causal_bias":
        zero = f.scalar(0, e)
        mask = f.elementwise([], ("L", "S"), e, [
            *index_lines("LS", "L", "S"), "%m = arith.cmpi sle, %j, %i : index", f"%x = arith.select %m, {zero}, {minus} : {e}", "%x"])
        return f.elementwise([scores, mask], dims, e, [f"%x = arith.addf %a, %b : {e}", "%x"])
    if kind == "causal_tril":
        # As torch.tril of ones: two steps, i64 in between.
        one = f.fill(1, ("L", "S"), "f32")
        zero = f.scalar(0, "f32")
        tril = f.elementwise([one], ("L", "S"), "f32", [
            *index_lines("LS", "L", "S"), "%ii = arith.index_cast %i : index to i64", "%jj = arith.index_cast %j : index to i64",
            "%z = arith.constant 0 : i64", "%e = arith.addi %ii, %z : i64", "%m = arith.cmpi sle, %jj, %e : i64",
            f"%x = arith.select %m, %a, {zero} : f32", "%x"])
        mask = f.elementwise([tril], ("L", "S"), "i1", [f"%m = arith.cmpf une, %a, {zero} : f32", "%m"])
        return f.elementwise([scores, mask], dims, e, [f"%x = arith.select %b, %a, {minus} : {e}", "%x"])
    if kind == "causal_iota":
        places = []
        for d in "LS":
            places.append(f.elementwise([], (d,), "i64", ["%i = linalg.index 0 : index", "%x = arith.index_cast %i : index to i64", "%x"]))
        mask = f.elementwise(places, ("L", "S"), "i1", ["%m = arith.cmpi sge, %a, %b : i64", "%m"])
        return f.elementwise([scores, mask], dims, e, [f"%x = arith.select %b, %a, {minus} : {e}", "%x"])
    if kind == "window":
        return f.elementwise([scores], dims, e, [
            *at, "%d = arith.subi %i, %j : index", "%zero = arith.constant 0 : index", "%two = arith.constant 2 : index",
            "%m0 = arith.cmpi sge, %d, %zero : index", "%m1 = arith.cmpi sle, %d, %two : index",
            "%m = arith.andi %m0, %m1 : i1", select, "%x"])
    if kind == "bottom_right":
        offset = f.extents["S"] - f.extents["L"]
        return f.elementwise([scores], dims, e, [
            *at, f"%c = arith.constant {offset} : index", "%k = arith.addi %i, %c : index", "%m = arith.cmpi sge, %k, %j : index", select, "%x"])
    if kind == "ahead":
        # Keys up to 2 after the row: no mask of the op, so code.
        return f.elementwise([scores], dims, e, [
            *at, "%c = arith.constant 2 : index", "%k = arith.addi %i, %c : index", "%m = arith.cmpi sge, %k, %j : index", select, "%x"])
    if kind == "causal_finite":
        low = f.scalar(-1e4, e)
        return f.elementwise([scores], dims, e, [
            *at, "%m = arith.cmpi sge, %i, %j : index", f"%x = arith.select %m, %a, {low} : {e}", "%x"])
    if kind == "alibi":
        slopes = f.argument(dims[:-2][-1], "f32")
        return f.elementwise([scores, slopes], dims, e, [
            *at, "%d = arith.subi %j, %i : index", "%n = arith.index_cast %d : index to i32", "%y = arith.sitofp %n : i32 to f32",
            "%z = arith.mulf %y, %b : f32", f"%x = arith.addf %a, %z : {e}", "%x"])
    if kind == "causal_and_bias":
        scores = masked_by_index(f, scores, "causal", minus)
        bias = f.argument("LS", "f32")
        return f.elementwise([scores, bias], dims, e, [f"%x = arith.addf %a, %b : {e}", "%x"])
    raise KeyError(kind)


# ---- operands ------------------------------------------------------------------


def ordered(form, dims):
    """The dims of an operand of rank 4 as the form stores it."""
    letters = dict(zip("BHLD", dims))
    return tuple(letters[d] for d in form["order"]) if form["rank"] == 4 else dims


def repeated(f, tensor, form):
    """K or V [B, K, S, D] with a copy for each query head, [B, H, S, D]."""
    kind, (b, k, s, d) = form["groups"], tensor.dims
    whole = (b, k, "G", s, d)
    if kind == "broadcast":
        copy = f.broadcast(tensor, whole)
    elif kind == "repeat_kv":
        unit = f.expand(tensor, [[0], [1, 2], [3], [4]], (b, k, "1", s, d))
        copy = f.generic(list(whole), [(unit, [b, k, "0", s, d])], f.empty(whole, tensor.element), "", ["%a"])
    else:
        # tiled: copy n of all KV heads comes before copy n + 1.
        whole = (b, "G", k, s, d) if kind == "tiled" else whole
        copy = f.generic(list(whole), [(tensor, tensor.dims)], f.empty(whole, tensor.element), "", ["%a"])
    return f.collapse(copy, [[0], [1, 2], [3], [4]], (b, "H", s, d))


def operands(f, form):
    """q, k, v, as the products read them."""
    element = form["element"]
    if form["rank"] == 3:
        shapes = ("N", "L", "D"), ("N", "S", "D"), ("N", "S", "E")
    elif form["rank"] == 2:
        shapes = ("L", "D"), ("S", "D"), ("S", "E")
    elif form["rank"] == 1:
        shapes = ("D",), ("S", "D"), ("S", "E")
    elif form["groups"] in ("five", "shared"):
        heads = ("B", "K", "G", "L", "D") if form["groups"] == "five" else ("B", "H", "L", "D")
        kv = ("B", "K") if form["groups"] == "five" else ("B",)
        shapes = heads, (*kv, "S", "D"), (*kv, "S", "E")
    else:
        heads = "H" if form["groups"] == "none" else "K"
        shapes = ("B", "H", "L", "D"), ("B", heads, "S", "D"), ("B", heads, "S", "E")
        shapes = tuple(ordered(form, one) for one in shapes)
    if form.get("column"):
        shapes = (*shapes[:2], shapes[2][:-1])
    made = [f.argument(shape, element) for shape in shapes]
    if form["order"] != "BHLD" and form.get("moved"):
        made = [f.transpose(t, tuple(t.dims[form["order"].index(d)] for d in "BHLD")) for t in made]
    if form["groups"] in ("broadcast", "repeat_kv", "generic", "tiled"):
        made[1:] = [repeated(f, t, form) for t in made[1:]]
    if form["widen"] != "none":
        made = [f.cast(t, "f32", form["widen"]) for t in made]
    made[0] = scaled_operand(f, made[0], form, "query")
    made[1] = scaled_operand(f, made[1], form, "key")
    return made


def function_text(name, parts):
    """(text, dims and elements of the arguments, those of the result) of the form."""
    form = {**DEFAULTS, **parts}
    extents = {**EXTENTS, **form["static"]}
    for letter in form["dynamic"]:
        del extents[letter]
    f = Function(extents)
    q, k, v = operands(f, form)
    prefix = {1: (), 2: (), 3: ("N",), 4: ("B", "H")}[form["rank"]]
    if form["groups"] == "five":
        prefix = ("B", "K", "G")
    rows = () if form["rank"] == 1 else ("L",)
    dims = (*prefix, *rows, "S")
    if form.get("keys_first"):
        dims = (*prefix, "S", "L")
    out = (*prefix, *rows, *(() if form.get("column") else ("E",)))
    if form["rank"] == 4 and form["order"] != "BHLD" and not form.get("moved"):
        out = ordered(form, out)
    s = product(f, form["first"], q, k, dims, "D", form["accumulate"])
    s = masked(f, capped(f, scaled(f, s, form), form), form)
    p = SOFTMAXES[form["softmax"]](f, s)
    if form["round"] != "none":
        p = f.cast(p, v.element, form["round"])
    o = product(f, form["second"], p, v, out, "S", form.get("output", form["accumulate"]))
    if form["narrow"] != "none":
        o = f.cast(o, form["element"], form["narrow"])
    arguments = ", ".join(f"{a.name}: {f.typed(a)}" for a in f.arguments)
    text = [f"  func.func @{name}({arguments}) -> {f.typed(o)} attributes {{llvm.emit_c_interface}} {{", *f.lines,
            f"    return {o.name} : {f.typed(o)}", "  }"]
    return "\n".join(text), [(a.dims, a.element) for a in f.arguments], (o.dims, o.element), extents
