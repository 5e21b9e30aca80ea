"""Writes functions of linalg on tensors. Dimensions are letters; the ones without an extent are dynamic."""


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

    def named_into(self, op, inputs, out):
        return self.emit(
            f"{op} ins({', '.join(t.name for t in inputs)} : {', '.join(map(self.typed, inputs))}) "
            f"outs({out.name} : {self.typed(out)}) -> {self.typed(out)}", out.dims, out.element,
        )

    def named(self, op, inputs, dims, element):
        return self.named_into(op, inputs, self.empty(dims, element))

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
