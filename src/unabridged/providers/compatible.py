"""Hosts and servers that speak OpenAI's dialect: their addresses, keys, and what they do not take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from unabridged.errors import ConfigError
from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from unabridged.providers.remote import HttpOptions

__all__ = ["HOSTS", "CompatibleHost", "CompatibleProvider"]


@dataclass(frozen=True, slots=True)
class CompatibleHost:
    """Where a host is, the variables that hold its key, and whether it knows base64."""

    url: str
    keys: tuple[str, ...] = ()
    base64: bool = True


# Addresses and variables as in each host's own documentation (2026-11).
HOSTS: dict[str, CompatibleHost] = {
    "dashscope": CompatibleHost(
        "https://dashscope.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",), base64=False
    ),
    "deepinfra": CompatibleHost(
        "https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"), base64=False
    ),
    "fireworks": CompatibleHost("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "github-models": CompatibleHost("https://models.github.ai/inference", ("GITHUB_TOKEN",)),
    "infinity": CompatibleHost("http://localhost:7997"),
    "litellm": CompatibleHost("http://localhost:4000/v1"),
    "llamacpp": CompatibleHost("http://localhost:8080/v1"),
    "lmstudio": CompatibleHost("http://localhost:1234/v1"),
    "localai": CompatibleHost("http://localhost:8080/v1"),
    "nebius": CompatibleHost("https://api.studio.nebius.com/v1", ("NEBIUS_API_KEY",)),
    "openrouter": CompatibleHost("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "siliconflow": CompatibleHost("https://api.siliconflow.cn/v1", ("SILICONFLOW_API_KEY",)),
    "together": CompatibleHost("https://api.together.xyz/v1", ("TOGETHER_API_KEY",), base64=False),
    "vllm": CompatibleHost("http://localhost:8000/v1"),
    "volcengine": CompatibleHost("https://ark.cn-beijing.volces.com/api/v3", ("ARK_API_KEY",)),
    "xinference": CompatibleHost("http://localhost:9997/v1"),
    "zhipu": CompatibleHost("https://open.bigmodel.cn/api/paas/v4", ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY"), base64=False),
}


class CompatibleProvider(OpenAIProvider):
    """OpenAI's dialect under a host's own name, address and key.

    >>> CompatibleProvider("BAAI/bge-m3", server="vllm")
    CompatibleProvider('BAAI/bge-m3', host='localhost:8000')
    """

    def __init__(self, model: str | None = None, *, server: str, **options: Unpack[HttpOptions]) -> None:
        host = HOSTS.get(server)
        if host is None:
            raise ConfigError("server", f"found {server!r}, known are {', '.join(sorted(HOSTS))}")
        self.name = server
        self.default_url = host.url
        self.key_variables = host.keys
        self.url_variables = ()
        self.needs_key = bool(host.keys)
        super().__init__(model, base64=host.base64, **options)
