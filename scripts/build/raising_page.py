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

Two passes replace attention that other compilers write by views and `fmha.attention`. `scripts/build/raising_page.py` writes this page from
the tables in `{tables}`.

    fmha-opt model.mlir --allow-unregistered-dialect --fmha-raise-named=compute=bf16 --fmha-raise-linalg=compute=bf16

- `fmha-raise-named` matches ops by name. Their dialects need not be loaded: without them ops are parsed in generic form (`mlir-opt --mlir-print-op-generic`).
- `fmha-raise-linalg` matches attention in linalg on tensors.
- `compute=bf16` or `compute=f16` rounds operands of f32, `compute=keep` keeps them. Without it such attention stays as it is. Outputs keep their type.
- The first pass prints a remark for each op that stays. The second one has missed-remarks: `--remarks-filter-missed=fmha-raise --remark-format=emitRemark`.

Each form has been compared on random numbers with its source: PyTorch's function, ONNX's reference evaluator, JAX's `dot_product_attention` and composites,
IREE's decomposition, the linalg program itself. In all of them a row that sees no key is 0; that is another number only where the table says so.

## Ops that fmha-raise-named takes

| op | operands | meaning |
| --- | --- | --- |
{forms}

These names are known, and refused: {unraised}.

## Code that fmha-raise-linalg takes

An attention is a first product, any of the code on scores, a softmax, and a second product.

| step | forms | meaning |
| --- | --- | --- |
{steps}

## Reasons for which an op stays

`{{0}}` and `{{1}}` stand for what the op has.

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
