"""Azure OpenAI: OpenAI's dialect with the deployment in the path and a key header of its own.

Source: https://learn.microsoft.com/azure/ai-services/openai/reference#embeddings
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from unabridged.providers.http import Call
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request

__all__ = ["AzureProvider"]

_VERSION = "2024-10-21"  # the last one that is generally available with dated versions


class AzureProvider(OpenAIProvider):
    """A deployment of an embeddings model; ``model`` is the deployment's name.

    ``base_url`` is the resource (``https://name.openai.azure.com``), a deployment's own address, or
    the undated API (``…/openai/v1``). ``ad_token`` is a Microsoft Entra token, instead of a key.

    >>> AzureProvider("my-deployment", api_key="key-1", base_url="https://name.openai.azure.com")
    AzureProvider('my-deployment', host='name.openai.azure.com')
    """

    name = "azure"
    default_url = None
    key_variables = ("AZURE_OPENAI_API_KEY",)
    url_variables = ("AZURE_OPENAI_ENDPOINT",)

    def __init__(
        self,
        model: str | None = None,
        *,
        api_version: str = _VERSION,
        ad_token: str | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        if ad_token:
            options["headers"] = {"authorization": f"Bearer {ad_token}", **(options.get("headers") or {})}
        self.needs_key = not ad_token
        super().__init__(model, **options)
        self._version = api_version

    def authorization(self, key: str) -> dict[str, str]:
        """A header of Azure's own."""
        return {"api-key": key}

    def call(self, request: Request) -> Call:
        """The deployment goes into the path, unless the base URL has it or needs none."""
        call = super().call(request)
        base = self.http.address.path
        if base.endswith("/openai/v1") or not call.path:
            return call
        within = "" if "/deployments/" in base else f"/openai/deployments/{self.model}"
        dated = {} if "api-version" in dict(self.http.address.query) else {"api-version": self._version}
        return replace(call, path=within + call.path, query=dated)
