"""What a model is made of: parameters by component, and the shape that decides cache and activations."""

from __future__ import annotations

from typing import Literal

from knowledge.facts import Base
from knowledge.text import Text

Kind = Literal["decoder", "encoder", "encoder-decoder", "diffusion", "other"]
Norm = Literal["rms", "layer"]
Activation = Literal["silu", "gelu", "gelu_steps", "relu"]  # gelu_steps: written as several operations


class ModelDescription(Base, frozen=True, kw_only=True):
    """One model. Counts are parameters; a tied output layer counts once, under `embedding_parameters`.

    `exact` is False where a part was approximated; `notes` then says which and how.
    """

    name: str | None = None
    architecture: str | None = None  # as the model's own file names it
    kind: Kind = "decoder"

    parameters: int
    active_parameters: int  # used for one token; below `parameters` for a mixture of experts
    embedding_parameters: int = 0
    head_parameters: int = 0  # output layer that is not tied
    attention_parameters: int = 0
    mlp_parameters: int = 0
    expert_parameters: int = 0
    norm_parameters: int = 0
    vision_parameters: int = 0
    audio_parameters: int = 0
    other_parameters: int = 0

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  # of a dense layer; of one expert where all layers are mixtures
    vocab: int = 0
    tied: bool = False
    gated: bool = True  # gate and up projections, as in SwiGLU
    norm: Norm = "rms"
    qk_norm: bool = False
    extra_norms: int = 0  # per layer, beyond the two before attention and feed-forward
    activation: Activation = "silu"
    dropout: bool = False  # of hidden values, while training
    attention_dropout: bool = False
    eager_attention: bool = False  # a bias on the scores that keeps its code from fused kernels
    cross_layers: int = 0  # layers with attention to an encoder as well
    softcap_attention: bool = False  # tanh over attention scores, which fused kernels of torch do not offer
    softcap_scores: bool = False  # tanh over the output layer's scores
    experts: int = 0
    experts_per_token: int = 0
    shared_intermediate: int = 0  # experts that every token passes, summed
    moe_layers: int = 0

    cache_layers: int = 0  # layers that keep keys and values over the whole context
    window_layers: int = 0  # layers that keep them over `window` tokens alone
    window: int | None = None
    cache_width: int = 0  # numbers that one layer keeps per token: 2 * kv_heads * head_dim, or the latent's width
    latent_cache: bool = False  # one compressed vector instead of keys and values; tensor parallel copies it
    cache_width_high: int | None = None  # where kv_heads was not known: with one per query head
    max_context: int | None = None

    largest_layer_parameters: int = 0  # gathered at once by ZeRO-3 and FSDP
    weights_bytes: int | None = None  # as the file holds them
    weight_format: str | None = None  # fp32, bf16, mxfp4, gguf:Q4_K_M … as the file holds them
    exact: bool = True
    notes: tuple[Text, ...] = ()

    @property
    def linear_parameters(self) -> int:
        """What 4-bit and 8-bit methods quantise: linear layers inside the blocks."""
        return self.attention_parameters + self.mlp_parameters + self.expert_parameters

    @property
    def is_mixture(self) -> bool:
        return self.experts > 1
