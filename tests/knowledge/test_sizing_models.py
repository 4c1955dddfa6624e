"""Counts by component: published totals, approximations that say so, and absurd numbers refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge import sizing
from knowledge.answers import Answers, Model
from knowledge.documents import BadInput
from knowledge.sizing import models, presets

# Totals that the reference implementation builds from the same sizes (transformers 5.24, parameters on the meta device).
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
COUNTS: dict[str, tuple[dict[str, Any], int]] = {
    "llama": (LLAMA, 8_030_261_248),
    "qwen2-moe": ({
        "model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4, "decoder_sparse_step": 1,
        "vocab_size": 151936, "tie_word_embeddings": False,
    }, 14_315_784_192),
    "gpt-neox": ({
        "model_type": "gpt_neox", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "intermediate_size": 4096, "vocab_size": 50304, "tie_word_embeddings": False,
    }, 405_334_016),
    "opt": ({
        "model_type": "opt", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "ffn_dim": 8192,
        "vocab_size": 50272, "max_position_embeddings": 2048,
    }, 1_315_758_080),
    "bloom": ({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880},
              559_214_592),
    "falcon": ({
        "model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
        "vocab_size": 65024, "multi_query": True, "bias": False,
    }, 6_921_720_704),
    "phi": ({
        "model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 10240, "vocab_size": 51200, "tie_word_embeddings": False,
    }, 2_779_683_840),
    "starcoder2": ({
        "model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24,
        "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152, "use_bias": True,
        "sliding_window": 4096,
    }, 3_030_371_328),
    "olmo2": ({
        "model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352, "tie_word_embeddings": False,
    }, 7_298_617_344),
    "cohere": ({
        "model_type": "cohere", "hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64,
        "num_key_value_heads": 64, "intermediate_size": 22528, "vocab_size": 256000,
    }, 34_980_831_232),
    "roberta": ({
        "model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1,
    }, 124_645_632),
    "distilbert": ({
        "model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522,
        "max_position_embeddings": 512,
    }, 66_362_880),
    "bart": ({
        "model_type": "bart", "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12,
        "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "vocab_size": 50265, "max_position_embeddings": 1024,
        "is_encoder_decoder": True,
    }, 406_291_456),
}  # fmt: skip
PARTS = ("embedding", "head", "attention", "mlp", "expert", "norm", "vision", "audio", "other")


def total_of_parts(found: sizing.ModelDescription) -> int:
    return sum(int(getattr(found, f"{name}_parameters")) for name in PARTS)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_exact(name: str) -> None:
    config, expected = COUNTS[name]
    found = sizing.describe(config)
    assert found.parameters == expected
    assert total_of_parts(found) == expected
    assert found.exact


@pytest.mark.parametrize("identifier", presets.presets())
def test_presets_reach_what_their_publishers_count(identifier: str) -> None:
    one, found = presets.presets()[identifier], presets.description(identifier)
    assert one.source.url.startswith("https://")
    assert one.source.date
    assert found.name == identifier
    if one.published is not None:
        room = 0 if found.exact else one.published // 200
        assert abs(found.parameters - one.published) <= room
    if found.kind != "diffusion":
        assert total_of_parts(found) == found.parameters


@pytest.mark.parametrize(("name", "identifier"), [
    ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"), ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"),
    ("unsloth/Llama-3.2-3B-Instruct-bnb-4bit", "llama-3.2-3b"), ("Mistral-7B-Instruct-v0.3", "mistral-7b"),
    ("google/gemma-3-27b-it", "gemma-3-27b"), ("GPT-OSS-120B", "gpt-oss-120b"), ("LLaMA-65B", "llama-65b"),
    ("Llama 2 70B chat", "llama-2-70b"), ("Qwen3.5-122B-A10B", None), ("llama", None), ("", None),
])  # fmt: skip
def test_names_are_found_with_or_without_owner_and_endings(name: str, identifier: str | None) -> None:
    assert presets.identified(name) == identifier


def test_every_name_means_one_preset() -> None:
    seen: dict[str, str] = {}
    for one in presets.presets().values():
        for alias in (one.id, *one.aliases):
            assert seen.setdefault(presets.spelled(presets.plain(alias)), one.id) == one.id, alias
    assert len(presets.presets()) >= 30


def test_latent_attention_keeps_one_vector() -> None:
    found = presets.description("deepseek-v3")
    assert (found.cache_width, found.latent_cache, found.cache_layers) == (512 + 64, True, 61)
    assert found.active_parameters < found.parameters / 15


def test_windows_cap_the_cache() -> None:
    assert (presets.description("gemma-3-27b").cache_layers, presets.description("gemma-3-27b").window_layers) == (10, 52)
    assert (presets.description("gpt-oss-20b").cache_layers, presets.description("gpt-oss-20b").window) == (12, 128)
    assert sizing.describe({**LLAMA, "model_type": "mistral", "sliding_window": 4096}).window_layers == 32
    listed = {**LLAMA, "layer_types": ["full_attention", "linear_attention", "sliding_attention", "full_attention"] * 8}
    found = sizing.describe({**listed, "sliding_window": 512})
    assert (found.cache_layers, found.window_layers) == (16, 8)


def test_quantised_checkpoints_say_their_format() -> None:
    quantised = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    assert sizing.describe(quantised).weight_format == "gptq"
    assert sizing.describe({**LLAMA, "torch_dtype": "float32"}).weight_format == "fp32"


def test_an_unknown_architecture_is_approximated_and_says_so() -> None:
    found = sizing.describe({**LLAMA, "model_type": "something_new"})
    assert not found.exact
    assert "something_new" in found.notes[-1].en
    assert "something_new" in found.notes[-1].zh
    assert found.parameters == COUNTS["llama"][1]


def test_towers_are_counted_approximately() -> None:
    config = {
        "model_type": "llava", "text_config": {**LLAMA, "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32064},
        "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                          "intermediate_size": 4096, "image_size": 336, "patch_size": 14},
    }  # fmt: skip
    found = sizing.describe(config)
    assert abs(found.parameters / 7_063_427_072 - 1) < 0.01
    assert found.vision_parameters > 300_000_000
    assert not found.exact


def test_a_size_alone_takes_the_shape_of_a_usual_model() -> None:
    found = sizing.describe(Model(params="7B"))
    assert (found.parameters, found.layers, found.hidden, found.kv_heads) == (7_000_000_000, 32, 4096, 8)
    assert found.cache_width_high == 2 * 4096
    assert not found.exact


@pytest.mark.parametrize("size", ["1M", "20M", "100M", "0.5B", "3B", "13B", "30B", "120B", "1T", "100T"])
def test_any_size_gets_a_sensible_shape(size: str) -> None:
    found = sizing.describe(Model(params=size))
    assert found.hidden >= found.heads >= found.kv_heads >= 1
    assert found.layers >= 1
    assert total_of_parts(found) == found.parameters


def test_a_name_that_states_a_size_is_enough() -> None:
    found = sizing.describe(Model(name="Qwen3.5-122B-A10B"))
    assert (found.parameters, found.active_parameters) == (122_000_000_000, 10_000_000_000)
    assert models.size_in_name("some-8x7b-model") == (46_480_000_000, None)
    assert models.size_in_name("gpt-4") is None
    assert models.of_answers(Answers(model=Model(name="my-own-net"))) is None


def test_what_is_stated_wins_over_a_preset() -> None:
    found = sizing.describe(Model(name="llama-3.1-8b", params=8.03e9, layers=40, hidden=4096, kv_heads=8))
    assert found.layers == 40
    scaled = sizing.describe(Model(name="llama-3.1-8b", params="9B"))
    assert (scaled.parameters, scaled.layers) == (9_000_000_000, 32)


@pytest.mark.parametrize("model", [
    Model(params="-7B"), Model(params="1e99"), Model(params=0), Model(params="7B", layers=10**12),
    Model(params="7B", heads=0), Model(params="7B", heads=8, kv_heads=16), Model(params="7B", active_params="9B"), Model(),
])  # fmt: skip
def test_absurd_models_are_refused_with_a_sentence(model: Model) -> None:
    with pytest.raises(BadInput) as refused:
        sizing.describe(model)
    assert len(str(refused.value)) > 20


@pytest.mark.parametrize("change", [
    {"num_hidden_layers": -2}, {"num_hidden_layers": 10**12}, {"hidden_size": "wide"}, {"hidden_size": 1.5},
    {"vocab_size": True}, {"num_attention_heads": None}, {"num_key_value_heads": 99}, {"intermediate_size": []},
])  # fmt: skip
def test_absurd_configurations_are_refused_with_a_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="model configuration"):
        sizing.describe({**LLAMA, **change})
