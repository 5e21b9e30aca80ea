"""A layer of a BERT-like encoder as one MLIR program, linalg and fmha.attention: stock mlir-opt compiles it with the plugin, mlir-runner runs it on
the simulator, and hidden states are those of transformers."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

BUILD = pathlib.Path(os.environ.get("FMHA_BUILD_DIR", "build")).resolve()
ROWS, HIDDEN, HEADS, INNER, EPSILON = 20, 64, 2, 128, 1e-12
DIM = HIDDEN // HEADS

MODULE = """
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @printMemrefF32(tensor<*xf32>)

func.func @layer(%x: {x}) -> {x} {{
{constants}
  %q = call @dense_{h}_{h}(%x, %q_weight, %q_bias) : ({x}, {hh}, {hb}) -> {x}
  %k = call @dense_{h}_{h}(%x, %k_weight, %k_bias) : ({x}, {hh}, {hb}) -> {x}
  %v = call @dense_{h}_{h}(%x, %v_weight, %v_bias) : ({x}, {hh}, {hb}) -> {x}
  %qh = call @heads(%q) : ({x}) -> {heads}
  %kh = call @heads(%k) : ({x}) -> {heads}
  %vh = call @heads(%v) : ({x}) -> {heads}
  %e = tensor.empty() : {heads}
  %o = fmha.attention ins(%qh, %kh, %vh : {heads}, {heads}, {heads}) outs(%e : {heads}) -> {heads}
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : {heads} into tensor<{n}x{h}xbf16>
  %wide = arith.extf %flat : tensor<{n}x{h}xbf16> to {x}
  %a = call @dense_{h}_{h}(%wide, %o_weight, %o_bias) : ({x}, {hh}, {hb}) -> {x}
  %sum = arith.addf %a, %x : {x}
  %y = call @norm(%sum, %n1_weight, %n1_bias) : ({x}, {hb}, {hb}) -> {x}
  %in = call @dense_{h}_{m}(%y, %i_weight, %i_bias) : ({x}, {hm}, {mb}) -> {xm}
  %act = call @gelu(%in) : ({xm}) -> {xm}
  %out = call @dense_{m}_{h}(%act, %d_weight, %d_bias) : ({xm}, {mh}, {hb}) -> {x}
  %sum2 = arith.addf %out, %y : {x}
  %z = call @norm(%sum2, %n2_weight, %n2_bias) : ({x}, {hb}, {hb}) -> {x}
  return %z : {x}
}}

func.func private @heads(%x: {x}) -> {heads} {{
  %t = arith.truncf %x : {x} to tensor<{n}x{h}xbf16>
  %r = tensor.expand_shape %t [[0, 1], [2, 3]] output_shape [1, {n}, {g}, {d}] : tensor<{n}x{h}xbf16> into {heads}
  return %r : {heads}
}}

func.func private @gelu(%x: {xm}) -> {xm} {{
  %half = arith.constant dense<0.5> : {xm}
  %one = arith.constant dense<1.0> : {xm}
  %root = arith.constant dense<0.70710678> : {xm}
  %s = arith.mulf %x, %root : {xm}
  %erf = math.erf %s : {xm}
  %p = arith.addf %erf, %one : {xm}
  %w = arith.mulf %x, %half : {xm}
  %r = arith.mulf %w, %p : {xm}
  return %r : {xm}
}}

func.func private @norm(%x: {x}, %weight: {hb}, %bias: {hb}) -> {x} {{
  %zero = arith.constant 0.0 : f32
  %count = arith.constant {h}.0 : f32
  %epsilon = arith.constant {epsilon:e} : f32
  %rows = tensor.empty() : tensor<{n}xf32>
  %none = linalg.fill ins(%zero : f32) outs(%rows : tensor<{n}xf32>) -> tensor<{n}xf32>
  %sum = linalg.generic {{indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}} ins(%x : {x}) outs(%none : tensor<{n}xf32>) {{
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %a, %s : f32
    linalg.yield %t : f32
  }} -> tensor<{n}xf32>
  %squares = linalg.generic {{indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}} ins(%x, %sum : {x}, tensor<{n}xf32>) outs(%none : tensor<{n}xf32>) {{
  ^bb0(%a: f32, %m: f32, %s: f32):
    %mean = arith.divf %m, %count : f32
    %off = arith.subf %a, %mean : f32
    %square = arith.mulf %off, %off : f32
    %t = arith.addf %square, %s : f32
    linalg.yield %t : f32
  }} -> tensor<{n}xf32>
  %e = tensor.empty() : {x}
  %r = linalg.generic {{indexing_maps = [#all, #row, #row, #column, #column, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %sum, %squares, %weight, %bias : {x}, tensor<{n}xf32>, tensor<{n}xf32>, {hb}, {hb}) outs(%e : {x}) {{
  ^bb0(%a: f32, %m: f32, %q: f32, %w: f32, %b: f32, %old: f32):
    %mean = arith.divf %m, %count : f32
    %off = arith.subf %a, %mean : f32
    %variance = arith.divf %q, %count : f32
    %more = arith.addf %variance, %epsilon : f32
    %deviation = math.sqrt %more : f32
    %unit = arith.divf %off, %deviation : f32
    %scaled = arith.mulf %unit, %w : f32
    %t = arith.addf %scaled, %b : f32
    linalg.yield %t : f32
  }} -> {x}
  return %r : {x}
}}

func.func @program() {{
  %x = arith.constant dense<"0x{data}"> : {x}
  %y = call @layer(%x) : ({x}) -> {x}
  %any = tensor.cast %y : {x} to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}}
"""

DENSE = """
func.func private @dense_{a}_{b}(%x: tensor<{n}x{a}xf32>, %weight: tensor<{b}x{a}xf32>, %bias: tensor<{b}xf32>) -> tensor<{n}x{b}xf32> {{
  %e = tensor.empty() : tensor<{n}x{b}xf32>
  %spread = linalg.broadcast ins(%bias : tensor<{b}xf32>) outs(%e : tensor<{n}x{b}xf32>) dimensions = [0]
  %r = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%x, %weight : tensor<{n}x{a}xf32>, tensor<{b}x{a}xf32>) outs(%spread : tensor<{n}x{b}xf32>) -> tensor<{n}x{b}xf32>
  return %r : tensor<{n}x{b}xf32>
}}
"""


def hexadecimal(tensor):
    return tensor.detach().float().numpy().tobytes().hex().upper()


def constants(layer):
    """The weights as constants, named as MODULE uses them."""
    own, cross = layer.attention.self, layer.attention.output
    parts = {"q": own.query, "k": own.key, "v": own.value, "o": cross.dense, "n1": cross.LayerNorm}
    parts |= {"i": layer.intermediate.dense, "d": layer.output.dense, "n2": layer.output.LayerNorm}
    for name, part in parts.items():
        for kind in ("weight", "bias"):
            tensor = getattr(part, kind)
            shape = "x".join(map(str, tensor.shape))
            yield f'  %{name}_{kind} = arith.constant dense<"0x{hexadecimal(tensor)}"> : tensor<{shape}xf32>'


def module_text(layer, x):
    n, h, m = ROWS, HIDDEN, INNER
    names = {"x": f"tensor<{n}x{h}xf32>", "xm": f"tensor<{n}x{m}xf32>", "hb": f"tensor<{h}xf32>", "mb": f"tensor<{m}xf32>"}
    names |= {"hh": f"tensor<{h}x{h}xf32>", "hm": f"tensor<{m}x{h}xf32>", "mh": f"tensor<{h}x{m}xf32>", "heads": f"tensor<1x{n}x{HEADS}x{DIM}xbf16>"}
    text = MODULE.format(n=n, h=h, m=m, g=HEADS, d=DIM, epsilon=EPSILON, constants="\n".join(constants(layer)), data=hexadecimal(x), **names)
    return text + "".join(DENSE.format(n=n, a=a, b=b) for a, b in ((h, h), (h, m), (m, h)))


def tool(name):
    found = shutil.which(f"{name}-22")
    return found or pytest.skip(f"{name}-22 is not on the PATH")


def run(text, target):
    """The numbers that the program prints."""
    plugin = BUILD / "lib/FmhaPlugin.so"
    command = [tool("mlir-opt"), f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}"]
    passes = f"--pass-pipeline=builtin.module(inline,fmha-program-to-llvm{{target={target}}})"
    compiled = subprocess.run([*command, passes], input=text, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr[-3000:]
    lib = pathlib.Path(os.path.realpath(tool("mlir-runner"))).parents[1] / "lib"
    libraries = [BUILD / "lib/libfmha_mgpu.so", lib / "libmlir_runner_utils.so", lib / "libmlir_c_runner_utils.so"]
    runner = [tool("mlir-runner"), "-e", "program", "--entry-point-result=void", f"--shared-libs={','.join(map(str, libraries))}"]
    environment = dict(os.environ, FMHA_DRIVER=str(BUILD / "lib/libptxsim.so"))
    done = subprocess.run(runner, input=compiled.stdout, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.array(re.findall(r"-?\d[\d.e+-]*", done.stdout.split("data =")[1]), dtype=np.float64)


@torch.no_grad()
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_hidden_states_are_those_of_transformers(random, target):
    config = BertConfig(
        hidden_size=HIDDEN, num_attention_heads=HEADS, intermediate_size=INNER, attn_implementation="eager", layer_norm_eps=EPSILON,
        attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(3)
    layer = BertLayer(config).eval()
    for weight in layer.parameters():
        if weight.dim() == 2:
            weight.normal_(0, 1.5 / weight.shape[1] ** 0.5)
    x = random(ROWS, HIDDEN, dtype=torch.float32)
    want = layer(x[None])
    want = (want[0] if isinstance(want, tuple) else want).reshape(ROWS, HIDDEN).double()
    got = torch.from_numpy(run(module_text(layer, x), target)).reshape(ROWS, HIDDEN)
    assert torch.nn.functional.cosine_similarity(got.flatten(), want.flatten(), dim=0) >= 0.9999
    assert (got - want).abs().max() < 0.05
    # Attention matters here: without values the hidden states are others.
    layer.attention.self.value.weight.zero_()
    other = layer(x[None])
    other = (other[0] if isinstance(other, tuple) else other).reshape(ROWS, HIDDEN).double()
    assert torch.nn.functional.cosine_similarity(other.flatten(), want.flatten(), dim=0) < 0.99
