"""Hugging Face Inference Providers: the model in the path, TEI's request below it.

Source: https://huggingface.co/docs/inference-providers/tasks/feature-extraction
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.providers.http import Call
from unabridged.providers.tei import TeiProvider

if TYPE_CHECKING:
    from unabridged.types import Request

__all__ = ["HuggingFaceProvider"]


class HuggingFaceProvider(TeiProvider):
    """A model of the hub on Hugging Face's own servers.

    >>> HuggingFaceProvider("BAAI/bge-small-en-v1.5", api_key="hf_key")
    HuggingFaceProvider('BAAI/bge-small-en-v1.5', host='router.huggingface.co')
    """

    name = "huggingface"
    default_url = "https://router.huggingface.co/hf-inference"
    default_model = None
    key_variables = ("HF_TOKEN", "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN")
    url_variables = ()
    needs_key = True

    def call(self, request: Request) -> Call:
        """The model's feature-extraction pipeline."""
        path = f"/models/{self.model}/pipeline/feature-extraction"
        return Call(path, body={**self._options(request), **self._body})
