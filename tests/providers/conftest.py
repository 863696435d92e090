"""A tiny BERT with random weights as a GGUF file: what llama.cpp does with it is real, what it says means nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, CONTEXT = 32, 64
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"\u2581{one}" for one in _LETTERS + ".,!?"), *_LETTERS]


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory) -> str:
    """The path of a model 32 wide, made for 64 tokens, that knows letters and figures."""
    pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    _write_model(path)
    return str(path)


def _write_model(path: Path) -> None:
    """Write the file: one layer, two heads, letters as its vocabulary, 64 positions."""
    import gguf

    model = gguf.GGUFWriter(path, "bert")
    for add, value in (
        (model.add_context_length, CONTEXT),
        (model.add_embedding_length, WIDTH),
        (model.add_block_count, 1),
        (model.add_feed_forward_length, 2 * WIDTH),
        (model.add_head_count, 2),
        (model.add_layer_norm_eps, 1e-12),
        (model.add_causal_attention, False),
        (model.add_pooling_type, gguf.PoolingType.MEAN),
        (model.add_file_type, 0),
        (model.add_tokenizer_model, "bert"),
        (model.add_token_list, WORDS),
        (model.add_token_types, [gguf.TokenType.CONTROL if w[0] == "[" else gguf.TokenType.NORMAL for w in WORDS]),
        (model.add_token_type_count, 2),
        (model.add_pad_token_id, 0),
        (model.add_unk_token_id, 1),
        (model.add_bos_token_id, 2),
        (model.add_eos_token_id, 3),
        (model.add_sep_token_id, 3),
        (model.add_mask_token_id, 4),
    ):
        add(value)
    for name, shape in _shapes().items():
        model.add_tensor(name, _weights(name, shape))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def _shapes() -> dict[str, tuple[int, ...]]:
    square, row, inner = (WIDTH, WIDTH), (WIDTH,), (2 * WIDTH,)
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(WORDS), WIDTH),
        "position_embd.weight": (CONTEXT, WIDTH),
        "token_types.weight": (2, WIDTH),
        "token_embd_norm.weight": row,
        "token_embd_norm.bias": row,
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        shapes |= {f"blk.0.{name}.weight": square, f"blk.0.{name}.bias": row}
    for name in ("attn_output_norm", "layer_output_norm"):
        shapes |= {f"blk.0.{name}.weight": row, f"blk.0.{name}.bias": row}
    shapes |= {"blk.0.ffn_up.weight": (2 * WIDTH, WIDTH), "blk.0.ffn_up.bias": inner}
    return shapes | {"blk.0.ffn_down.weight": (WIDTH, 2 * WIDTH), "blk.0.ffn_down.bias": row}


def _weights(name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith(".bias"):
        return np.zeros(shape, np.float32)
    if "norm" in name:
        return np.ones(shape, np.float32)
    return (np.random.default_rng(len(name)).standard_normal(shape) * 0.1).astype(np.float32)
