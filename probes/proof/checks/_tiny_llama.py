"""A llama of 0.1 M random weights and a tokenizer over single characters, made without any download."""


def model(transformers, torch, **more):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0, **more,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def tokenizer():
    """One token for each printable character; a chat template of one line per message."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3}
    for number in range(32, 127):
        words[chr(number)] = len(words)
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    raw.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    made.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    return made


def sentences(count=64):
    """Sums as text: small, ours, and learnable."""
    return ["%d plus %d is %d." % (a, b, a + b) for a in range(8) for b in range(8)][:count]
