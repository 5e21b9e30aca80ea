"""fmha.compile: results and errors."""

import inspect
import re

import fmha
import pytest

LEVELS = ["attention", "tiled", "placed", "specialised", "machine", "nvvm"]


@pytest.fixture(scope="module")
def kernel():
    return fmha.compile(head_dim=128, causal=True, lse=True)


def test_ptx_is_of_the_target(kernel):
    assert re.search(r"^\.target sm_100a\b", kernel.ptx, re.M)
    assert f".entry {kernel.manifest['kernel']}(" in kernel.ptx


def test_manifest_says_what_was_asked_for(kernel):
    manifest = kernel.manifest
    assert manifest["schema_version"] == 1
    assert manifest["target"] == "sm_100a" and manifest["dtype"] == "bf16"
    assert manifest["head_dim"] == 128 and manifest["mask"] == "causal"
    assert manifest["lse"] is True
    entry = kernel.ptx.split(f".entry {manifest['kernel']}(", 1)[1].split(")", 1)[0]
    assert entry.count(".param") == len(manifest["parameters"])


def test_levels_are_all_there_in_their_order(kernel):
    assert list(kernel.levels) == LEVELS
    assert "fmha.attention" in kernel.levels["attention"]
    assert "tile.dot" in kernel.levels["tiled"]
    assert "tile.dot" not in kernel.levels["machine"]
    assert "nvvm.tcgen05.mma" in kernel.levels["nvvm"]


def test_report_fits_the_manifest(kernel):
    report, manifest = kernel.report, kernel.manifest
    assert report.reason
    # Sentences are made for whoever asks.
    assert all(entry["reason"] and entry["schedule"]["roles"] for entry in (*report.runners_up, *report.rejected))
    assert report.schedule["p_placement"] == manifest["p_placement"]
    assert report.schedule["roles"] == manifest["roles"]
    assert max(r["column"] + r["columns"] for r in report.tmem) <= manifest["tmem_columns"] <= 512
    assert max(r["offset"] + r["bytes"] * r["stages"] for r in report.smem) <= manifest["smem_bytes"]


@pytest.mark.parametrize("scheduler", ["single", "static", "dynamic"])
def test_manifest_says_which_tiles_a_cta_does(scheduler):
    kernel = fmha.compile(head_dim=64, scheduler=scheduler)
    manifest = kernel.manifest
    assert kernel.report.schedule["scheduler"] == scheduler == manifest.get("scheduler", "single")
    assert (scheduler == "static") == ("max_ctas" in manifest)
    assert (scheduler == "static") == (manifest["parameters"][-1]["name"] == "tiles")
    assert (scheduler == "dynamic") == ("clusterlaunchcontrol" in kernel.ptx)


def test_hopper_draws_tiles_from_a_counter():
    kernel = fmha.compile(head_dim=64, scheduler="dynamic", target="sm_90a")
    manifest = kernel.manifest
    assert manifest["max_ctas"] == 132
    assert [parameter["name"] for parameter in manifest["parameters"][-2:]] == ["tiles", "tile_counter"]
    assert manifest["workspace"] == [{"tensor": "tile_counter", "dtype": "i32", "dims": [1], "zero": True}]
    assert "atom.global.inc.u32" in kernel.ptx


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ValueError, match="scheduler: expected auto or single or static or dynamic, got greedy"):
        fmha.compile(head_dim=64, scheduler="greedy")


def test_assembles_without_spills(kernel):
    assembly = kernel.assemble()
    if assembly.status == "missing":
        pytest.skip("no ptxas here")
    assert assembly.status == "ok", assembly.log
    assert assembly.spill_store_bytes == assembly.spill_load_bytes == 0
    assert 0 < assembly.registers <= 255


def test_module_text_gives_the_same_kernel_as_its_shape(kernel):
    again = fmha.compile(kernel.levels["attention"])
    assert again.manifest == kernel.manifest


def test_lengths_are_hints():
    assert fmha.compile(head_dim=64).manifest["q_tiles"] == 2
    # A second tile of 128 rows would have none.
    assert fmha.compile(head_dim=64, q_len=100, kv_len=100).manifest["q_tiles"] == 1


def test_broken_module_raises_with_its_location():
    with pytest.raises(fmha.CompileError) as caught:
        fmha.compile("module {\n  func.func @f( {\n}\n", name="broken.mlir")
    first = caught.value.diagnostics[0]
    assert first.severity == "error"
    assert re.match(r"broken\.mlir:\d+:\d+$", first.location)
    assert first.message in str(caught.value)


def test_path_of_a_module_is_rejected():
    with pytest.raises(ValueError, match=r"expected the text of a module, got what looks like a path, 'layer\.mlir'; pass pathlib\.Path"):
        fmha.compile("layer.mlir")


@pytest.mark.parametrize(
    "options, says",
    [
        ({"target": "sm_1"}, "sm_1"),
        ({"head_dim": 100}, "head_dim_v = 104"),
        ({"p_placement": "registers"}, "registers"),
    ],
)
def test_what_cannot_be_compiled_says_what(options, says):
    with pytest.raises(fmha.CompileError, match=says):
        fmha.compile(**options)


@pytest.mark.parametrize("options", [{"dtype": "f64"}, {"p_placement": "moon"}])
def test_unknown_words_are_value_errors(options):
    with pytest.raises(ValueError, match="expected"):
        fmha.compile(**options)


def test_schedule_is_taken_as_it_is():
    text = "#fmha.schedule<q_tiles = 1, kv_stages = 2, p_placement = smem>"
    report = fmha.compile(head_dim=64, schedule=text).report
    assert report.schedule["q_tiles"] == 1 and report.schedule["kv_stages"] == 2
    assert report.schedule["p_placement"] == "smem" and report.reason == "written by hand"


def test_schedule_without_a_target_is_for_the_target():
    kernel = fmha.compile(target="sm_103a", schedule="#fmha.schedule<kv_stages = 2>")
    assert kernel.manifest["target"] == kernel.report.schedule["target"] == "sm_103a"


@pytest.mark.parametrize(
    "schedule, location, says",
    [
        ("#fmha.schedule<q_tiles = 4>", r"schedule:1:\d+", "expected q_tiles to be 1, 2 or 3, got 4"),
        ("#fmha.schedule<q_tiles = 1>, lse", r"schedule:1:28", "trailing"),
        ("#fmha.mask<none>", "schedule", "expected #fmha.schedule<...>, got #fmha.mask<none>"),
        ("q_tiles = 1", "schedule", "expected #fmha.schedule<...>, such as #fmha.schedule<q_tiles = 1>, got 'q_tiles = 1'"),
        ("", "schedule", "expected #fmha.schedule<...>, such as #fmha.schedule<q_tiles = 1>, got ''"),
    ],
)
def test_wrong_schedule_is_told_by_itself(schedule, location, says):
    with pytest.raises(fmha.CompileError) as caught:
        fmha.compile(schedule=schedule)
    first = caught.value.diagnostics[0]
    assert re.fullmatch(location, first.location) and says in first.message


def test_schedule_with_a_module_is_rejected(kernel):
    with pytest.raises(ValueError, match="schedule: expected none with a module"):
        fmha.compile(kernel.levels["attention"], schedule="#fmha.schedule<>")


# Keywords that go with a module: how a kernel is built, and for what.
BESIDE_A_MODULE = (
    "module target p_placement family cta_group q_tiles q_tile_rows kv_block p_slices kv_stages v_stages key_chunk value_chunk kv_copy o_columns "
    "pack_heads share_kv scheduler ctas_per_sm exp2_emulated mma_order mma_k s_stages p_offset splits split_by q_len kv_len kv_len_mean batch q_heads kv_heads verify_kernels name schedule"
).split()
SIGNATURE = inspect.signature(fmha.compile).parameters


@pytest.mark.parametrize("keyword", [name for name in SIGNATURE if name not in BESIDE_A_MODULE])
def test_properties_of_the_op_are_rejected_with_a_module(kernel, keyword):
    default = SIGNATURE[keyword].default
    with pytest.raises(ValueError, match=f"^{keyword}: expected none with a module; write it on the fmha.attention"):
        fmha.compile(kernel.levels["attention"], **{keyword: 1 if default is None else default})


def test_all_that_the_op_says_is_named():
    with pytest.raises(ValueError, match="^softcap, lse: expected none with a module"):
        fmha.compile(module="module {}", softcap=20.0, lse=False, target="sm_103a")


@pytest.mark.parametrize(
    "lists, says",
    [
        ("kv_lens", r"the string 'kv_lens'; write \['kv_lens'\]"),
        (None, "None"),
        (3, "3"),
    ],
)
def test_lists_that_are_no_sequence(lists, says):
    with pytest.raises(TypeError, match=f"^lists: expected a sequence of names, got {says}$"):
        fmha.compile(lists=lists)


def test_verification_changes_no_kernel():
    kernel = fmha.compile(head_dim=64, verify_kernels=False)
    assert kernel.ptx == fmha.compile(head_dim=64).ptx


def test_compiling_again_gives_the_same_bytes():
    assert fmha.compile(head_dim=64).ptx == fmha.compile(head_dim=64).ptx


def test_kernels_that_append_new_keys():
    """Tensor cores if the launch is known, plain threads otherwise."""
    hints = dict(q_len=1, q_heads=8, kv_heads=2, kv_len=1024, batch=2)
    kernel = fmha.compile(key_new=True, lists=("kv_lens",), target="sm_90a", **hints)
    assert kernel.manifest["key_new"] and kernel.manifest["pack_heads"] == 4
    assert fmha.compile(key_new=True, lists=("kv_lens",)).report.schedule["family"] == "fma"
    with pytest.raises(fmha.CompileError, match="attention.C33: expected kv_lens with key_new"):
        fmha.compile(key_new=True)
    rotated = fmha.compile(key_new=True, rotary="interleaved", rotary_dim=32, lists=("kv_lens",), target="sm_90a", **hints)
    assert rotated.manifest["rotary_dim"] == 32 and rotated.manifest["rotary_interleaved"] and rotated.manifest["pack_heads"] == 4
    with pytest.raises(ValueError, match="rotary: expected key_new with it"):
        fmha.compile(rotary="half")
    with pytest.raises(ValueError, match="rotary_dim: expected None without rotary, got 32"):
        fmha.compile(rotary_dim=32)
    with pytest.raises(ValueError, match="rotary_dim: expected an even number of columns, since pairs rotate, got 31"):
        fmha.compile(key_new=True, rotary="half", rotary_dim=31, lists=("kv_lens",))
    with pytest.raises(fmha.CompileError, match="attention.C35"):
        fmha.compile(key_new=True, rotary="half", rotary_dim=130, lists=("kv_lens",))
    with pytest.raises(ValueError, match="key_new: expected none with a module"):
        fmha.compile(kernel.levels["attention"], key_new=True)
