"""Writes attention in linalg, in many forms that are combined of parts.

A form is a dict of parts that differ from DEFAULTS; function_text() makes the
function of one. Dimensions are letters: B (batch), H (heads), K (KV heads),
G (query heads of a KV head), N (batch times heads), L (rows), S (keys), D and E
(head dims). Extents that are not in EXTENTS are dynamic.
"""

EXTENTS = {"B": 2, "H": 4, "K": 2, "G": 2, "N": 8, "D": 8, "E": 16, "1": 1}
LOG2E = 1.4426950408889634

DEFAULTS = {
    "rank": 3,  # 3 [N, L, D], 4 [B, H, L, D]
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


def cst(value, element):
    """The text of a float constant."""
    special = {
        ("-inf", "f32"): "0xFF800000",
        ("-inf", "f16"): "0xFC00",
        ("-inf", "bf16"): "0xFF80",
        ("-inf", "f64"): "0xFFF0000000000000",
        ("lowest", "f32"): "-3.40282347E+38",
        ("lowest", "f16"): "-6.550400e+04",
        ("lowest", "bf16"): "0xFF7F",
    }
    return special.get((value, element)) or f"{float(value):e}"


class Tensor:
    def __init__(self, name, dims, element):
        self.name, self.dims, self.element = name, tuple(dims), element


class Function:
    """A function that is being written."""

    def __init__(self, extents):
        self.extents, self.lines, self.count, self.arguments, self.sizes = extents, [], 0, [], {}

    def shape(self, dims):
        return "x".join([*(str(self.extents.get(d, "?")) for d in dims), ""])

    def type(self, dims, element):
        return f"tensor<{self.shape(dims)}{element}>"

    def typed(self, tensor):
        return self.type(tensor.dims, tensor.element)

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def line(self, text):
        self.lines.append("    " + text)

    def emit(self, text, dims, element):
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Tensor(name, dims, element)

    def argument(self, dims, element):
        tensor = Tensor(f"%arg{len(self.arguments)}", dims, element)
        self.arguments.append(tensor)
        for position, d in enumerate(dims):
            if d not in self.extents and d not in self.sizes:
                self.sizes[d] = f"%size{d}"
                self.line(f"%at{d} = arith.constant {position} : index")
                self.line(f"%size{d} = tensor.dim {tensor.name}, %at{d} : {self.typed(tensor)}")
        return tensor

    def scalar(self, value, element):
        name = self.fresh()
        self.line(f"{name} = arith.constant {cst(value, element)} : {element}")
        return name

    def splat(self, value, dims, element):
        """A constant of static shape, or a splat of a dynamic one."""
        sizes = ", ".join(self.sizes[d] for d in dims if d not in self.extents)
        kind = self.type(dims, element)
        if not sizes:
            return self.emit(f"arith.constant dense<{cst(value, element)}> : {kind}", dims, element)
        return self.emit(f"tensor.splat {self.scalar(value, element)}[{sizes}] : {kind}", dims, element)

    def empty(self, dims, element):
        sizes = ", ".join(self.sizes[d] for d in dims if d not in self.extents)
        return self.emit(f"tensor.empty({sizes}) : {self.type(dims, element)}", dims, element)

    def fill(self, value, dims, element):
        out, number = self.empty(dims, element), self.scalar(value, element)
        return self.emit(
            f"linalg.fill ins({number} : {element}) outs({out.name} : {self.typed(out)}) -> {self.typed(out)}", dims, element
        )

    def maps(self, loops, places):
        names = [f"d{n}" for n in range(len(loops))]
        index = lambda d: d if d == "0" else d.translate({ord(loop): name for loop, name in zip(loops, names)})
        one = lambda dims: f"affine_map<({', '.join(names)}) -> ({', '.join(map(index, dims))})>"
        return f"[{', '.join(map(one, places))}]"

    def generic(self, loops, inputs, out, reduced, body, out_dims=None):
        """`inputs` are (tensor, dims by loop); `body` has lines on %a, %b, ... and %out, and the
        name that it yields."""
        kinds = ", ".join(f'"{"reduction" if loop in reduced else "parallel"}"' for loop in loops)
        places = [*(dims for _, dims in inputs), out_dims or out.dims]
        names = "abcdefg"
        arguments = [f"%{names[n]}: {tensor.element}" for n, (tensor, _) in enumerate(inputs)] + [f"%out: {out.element}"]
        ins = ""
        if inputs:
            ins = f"ins({', '.join(t.name for t, _ in inputs)} : {', '.join(self.typed(t) for t, _ in inputs)}) "
        result = self.emit(
            f"linalg.generic {{indexing_maps = {self.maps(loops, places)}, iterator_types = [{kinds}]}} "
            f"{ins}outs({out.name} : {self.typed(out)}) {{", out.dims, out.element,
        )
        self.line(f"^bb0({', '.join(arguments)}):")
        *lines, value = body
        for text in lines:
            self.line("  " + text)
        self.line(f"  linalg.yield {value} : {out.element}")
        self.line(f"}} -> {self.typed(out)}")
        return result

    def elementwise(self, inputs, dims, element, body):
        """A generic whose inputs have dims of the result, 1 and 0 for those of extent 1."""
        places = [(t, ["0" if d == "1" else d for d in t.dims]) for t in inputs]
        return self.generic(list(dims), places, self.empty(dims, element), "", body)

    def named(self, op, inputs, dims, element):
        out = self.empty(dims, element)
        return self.emit(
            f"{op} ins({', '.join(t.name for t in inputs)} : {', '.join(map(self.typed, inputs))}) "
            f"outs({out.name} : {self.typed(out)}) -> {self.typed(out)}", dims, element,
        )

    def arith(self, op, *inputs):
        first = inputs[0]
        return self.emit(f"{op} {', '.join(t.name for t in inputs)} : {self.typed(first)}", first.dims, first.element)

    def cast(self, tensor, element, style="arith"):
        if tensor.element == element:
            return tensor
        width = {"f16": 16, "bf16": 16, "f32": 32}
        op = "arith.extf" if width[element] > width[tensor.element] else "arith.truncf"
        if style == "generic":
            return self.elementwise([tensor], tensor.dims, element, [f"%x = {op} %a : {tensor.element} to {element}", "%x"])
        return self.emit(f"{op} {tensor.name} : {self.typed(tensor)} to {self.type(tensor.dims, element)}", tensor.dims, element)

    def transpose(self, tensor, dims):
        out = self.empty(dims, tensor.element)
        order = [tensor.dims.index(d) for d in dims]
        return self.emit(
            f"linalg.transpose ins({tensor.name} : {self.typed(tensor)}) outs({out.name} : {self.typed(out)}) permutation = {order}",
            dims, tensor.element,
        )

    def broadcast(self, tensor, dims):
        out = self.empty(dims, tensor.element)
        added = [n for n, d in enumerate(dims) if d not in tensor.dims]
        return self.emit(
            f"linalg.broadcast ins({tensor.name} : {self.typed(tensor)}) outs({out.name} : {self.typed(out)}) dimensions = {added}",
            dims, tensor.element,
        )

    def collapse(self, tensor, groups, dims):
        return self.emit(
            f"tensor.collapse_shape {tensor.name} {groups} : {self.typed(tensor)} into {self.type(dims, tensor.element)}",
            dims, tensor.element,
        )

    def expand(self, tensor, groups, dims):
        sizes = ", ".join(str(self.extents.get(d, self.sizes.get(d))) for d in dims)
        return self.emit(
            f"tensor.expand_shape {tensor.name} {groups} output_shape [{sizes}] : {self.typed(tensor)} into "
            f"{self.type(dims, tensor.element)}", dims, tensor.element,
        )


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


def named_into(self, op, inputs, out):
    return self.emit(
        f"{op} ins({', '.join(t.name for t in inputs)} : {', '.join(map(self.typed, inputs))}) "
        f"outs({out.name} : {self.typed(out)}) -> {self.typed(out)}", out.dims, out.element,
    )


Function.named_into = named_into


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
    own = {2: "LS", 3: "NLS", 4: "BHLS", 5: "BKGLS"}[len(dims)]
    minus = f.scalar("-inf", e)
    if kind == "none":
        return scores
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


# ---- softmax -------------------------------------------------------------------


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
}

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
    elif form["groups"] in ("five", "shared"):
        heads = ("B", "K", "G", "L", "D") if form["groups"] == "five" else ("B", "H", "L", "D")
        kv = ("B", "K") if form["groups"] == "five" else ("B",)
        shapes = heads, (*kv, "S", "D"), (*kv, "S", "E")
    else:
        heads = "H" if form["groups"] == "none" else "K"
        shapes = ("B", "H", "L", "D"), ("B", heads, "S", "D"), ("B", heads, "S", "E")
        shapes = tuple(ordered(form, one) for one in shapes)
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
    prefix = {2: (), 3: ("N",), 4: ("B", "H")}[form["rank"]]
    if form["groups"] == "five":
        prefix = ("B", "K", "G")
    dims = (*prefix, "L", "S")
    if form.get("keys_first"):
        dims = (*prefix, "S", "L")
    out = (*prefix, "L", "E")
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
