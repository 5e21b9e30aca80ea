"""Writes docs/raising.md from the tables of forms and refusals of fmha-raise-named and fmha-raise-linalg.

    scripts/build/raising_page.py            writes docs/raising.md
    scripts/build/raising_page.py --check    exits 1 if it is out of date

The tables are the .def files of include/fmha/Conversion/Raise.
"""

import sys

import generated
from generated import ROOT, entries

TABLES = "include/fmha/Conversion/Raise"

PAGE = """# Attention of other dialects

Two passes find attention that other compilers write, and replace it by `fmha.attention` and views of its operands.
`scripts/build/raising_page.py` writes this page from the tables in `{tables}`.

Commands run in the root of a checkout that `scripts/test` or `scripts/demo` has built. Save this as `model.mlir`:

```mlir
// model.mlir
func.func @model(%q: tensor<2x8x?x64xf32>, %k: tensor<2x2x?x64xf32>, %v: tensor<2x2x?x64xf32>) -> tensor<2x8x?x64xf32> {{
  %o = "onnx.Attention"(%q, %k, %v) {{is_causal = 1 : si64}}
      : (tensor<2x8x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>) -> tensor<2x8x?x64xf32>
  return %o : tensor<2x8x?x64xf32>
}}
```
```sh
build/bin/fmha-opt model.mlir --allow-unregistered-dialect --fmha-raise-named=compute=bf16 --fmha-raise-linalg=compute=bf16 | grep fmha.attention
```
```text
    … = fmha.attention ins(…) outs(…) {{mask = #fmha.mask<causal_top_left>}} -> tensor<2x?x8x64xf32>…
```

[mlir.md](mlir.md#the-steps-for-a-compiler-that-has-its-own-pipeline) lists the passes that come after these.

- `fmha-raise-named` matches ops by name. Their dialects need not be loaded if the ops are in generic form (`mlir-opt --mlir-print-op-generic`).
- `fmha-raise-linalg` matches code in linalg on tensors.
- `compute=bf16` or `compute=f16` rounds operands of f32, `compute=keep` keeps them. Without the option such attention stays as it is. Outputs keep their type.
- Constants that no op uses any more, such as `torch.constant.none` and `onnx.NoValue`, are erased.
- `fmha-raise-named` prints a remark for each op that stays. The missed remarks of `fmha-raise-linalg` are printed with
  `--remarks-filter-missed=fmha-raise --remark-format=emitRemark`.

Tests compare the forms, on random numbers, with their sources: PyTorch's function, ONNX's reference evaluator, JAX's `dot_product_attention` and composites,
IREE's decomposition, the linalg program itself. A row that sees no key gives 0 here. The tables say where the source gives another number.

## Ops that fmha-raise-named raises

| op | operands | meaning |
| --- | --- | --- |
{forms}

The pass knows these names and refuses them: {unraised}.

## Code that fmha-raise-linalg raises

An attention is a product of queries and keys, optional code on the scores, a softmax, and a product with the values.

| step | forms | meaning |
| --- | --- | --- |
{steps}

## Reasons for which an op stays as it is

`{{0}}` and `{{1}}` stand for properties of the op.

| remark | text |
| --- | --- |
{refusals}
"""


def cell(text):
    return text.replace("|", "\\|")


def name_of(op, callee):
    return f"`{op}`" + (f" of `{callee}`" if callee else "")


def page():
    named = entries(ROOT / TABLES / "NamedForms.def")
    forms = [a for macro, a in named if macro == "NAMED_FORM"]
    unraised = [a for macro, a in named if macro == "UNRAISED_NAME"]
    return PAGE.format(
        tables=TABLES,
        forms="\n".join(f"| {name_of(op, callee)} | {cell(operands)} | {cell(text)} |" for _, _, op, callee, operands, text in forms),
        unraised=", ".join(f"`{callee or op}`" for _, op, callee, _, _ in unraised),
        steps="\n".join(f"| {a[0]} | {cell(a[1])} | {cell(a[2])} |" for _, a in entries(ROOT / TABLES / "LinalgForms.def")),
        refusals="\n".join(f"| `{id}` | {cell(text)} |" for _, (_, id, text) in entries(ROOT / TABLES / "Refusals.def")),
    )


def main(arguments):
    generated.main(__file__, arguments, {"docs/raising.md": page()}, ROOT)


if __name__ == "__main__":
    main(sys.argv[1:])
