"""NVIDIA NIM, in the cloud or on one's own machine. ``truncate: NONE``, so that nothing is cut silently.

Source: https://docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/reference.html
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Call
    from unabridged.types import Request, Role

__all__ = ["NimProvider"]

_TYPES: Mapping[Role, str] = {"document": "passage", "query": "query"}


class NimProvider(OpenAIProvider):
    """Retriever models. The role is ``input_type``.

    >>> NimProvider("nvidia/nv-embedqa-e5-v5", api_key="key-1")
    NimProvider('nvidia/nv-embedqa-e5-v5', host='integrate.api.nvidia.com')
    """

    name = "nim"
    default_url = "https://integrate.api.nvidia.com/v1"
    key_variables = ("NVIDIA_API_KEY", "NGC_API_KEY")
    url_variables = ()

    def call(self, request: Request) -> Call:
        """OpenAI's request, the role, and the switch against silent cuts."""
        call = super().call(request)
        return replace(call, body={"input_type": _TYPES[request.role], "truncate": "NONE", **call.body})
