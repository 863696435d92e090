"""Amazon Bedrock: Titan takes one text a request, Cohere up to 96; both by ``InvokeModel``.

Requests go over our own HTTP, so that deadlines, threads and tasks are as everywhere; botocore
(extra ``bedrock``) finds the credentials and signs. With a Bedrock API key nothing else is needed.
Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

from unabridged.errors import ConfigError, MissingExtra, Overflow
from unabridged.providers.cohere import INPUT_TYPES, cohere_items
from unabridged.providers.http import Call
from unabridged.providers.remote import HttpProvider
from unabridged.types import Fault, Limit, Reply

if TYPE_CHECKING:
    from unabridged.providers.http import Answer
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request

__all__ = ["BedrockProvider"]


class BedrockProvider(HttpProvider):
    """Titan and Cohere embeddings on Bedrock.

    ``api_key`` is a Bedrock API key (``AWS_BEARER_TOKEN_BEDROCK``); without one, the credentials that
    boto3 would find are used, or those of ``profile``. ``region`` comes from ``AWS_REGION`` if it is
    not given.

    >>> BedrockProvider("amazon.titan-embed-text-v2:0", api_key="key-1", region="eu-west-1")
    BedrockProvider('amazon.titan-embed-text-v2:0', host='bedrock-runtime.eu-west-1.amazonaws.com')
    """

    name = "bedrock"
    key_variables = ("AWS_BEARER_TOKEN_BEDROCK",)
    needs_key = False

    def __init__(
        self,
        model: str | None = None,
        *,
        region: str | None = None,
        profile: str | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        self.default_url = f"https://bedrock-runtime.{region}.amazonaws.com"
        super().__init__(model, **options)
        self._is_cohere = "cohere." in self.model
        if not self._is_cohere:
            self.limit = self.limit.tighten(Limit(request_inputs=1))
        signed = not self._key(options.get("api_key"), required=False)
        self._signer = _signer(region, profile) if signed else None

    def call(self, request: Request) -> Call:
        """The model in the path; a signature, where there is no key."""
        path = f"/model/{quote(self.model, safe='')}/invoke"
        body = {**self._request(request), **self._body}
        if self._signer is None:
            return Call(path, body=body)
        address = self.http.address
        url = f"{address.scheme}://{address.host}{address.path}{path}"
        return Call(path, body=body, headers=_signed(self._signer, url, body))

    def read(self, request: Request, answer: Answer) -> Reply:
        """``embedding`` of Titan, ``embeddings`` of Cohere."""
        data = answer.data if isinstance(answer.data, dict) else {}
        one = data.get("embedding")
        items = cohere_items(data) if self._is_cohere else None if one is None else [(None, one)]
        tokens = data.get("inputTextTokenCount") or answer.headers.get("x-amzn-bedrock-input-token-count")
        return Reply(self.vectors(request, answer, items), int(tokens) if tokens else None)

    def _request(self, request: Request) -> dict[str, Any]:
        if self._is_cohere:
            body: dict[str, Any] = {
                "texts": list(request.texts),
                "input_type": INPUT_TYPES[request.role],
                "truncate": "NONE",
            }
            if request.dimensions is not None:
                body["output_dimension"] = request.dimensions
            return body
        if len(request.texts) != 1:
            fault = Fault("batch_count", limit=1, actual=len(request.texts), unit="inputs")
            raise Overflow(f"bedrock: Titan takes 1 text a request, not {len(request.texts)}", fault)
        width = {} if request.dimensions is None else {"dimensions": request.dimensions}
        return {"inputText": request.texts[0], **width}


def _signer(region: str, profile: str | None) -> Any:
    try:
        from botocore.auth import SigV4Auth
        from botocore.session import Session
    except ImportError:
        raise MissingExtra("boto3", "bedrock") from None
    credentials = Session(profile=profile).get_credentials()
    if credentials is None:
        raise ConfigError(
            "api_key",
            "bedrock needs a key or credentials: set AWS_BEARER_TOKEN_BEDROCK",
            advice="api_key",
        )
    return SigV4Auth(credentials, "bedrock", region)


def _signed(signer: Any, url: str, body: dict[str, Any]) -> dict[str, str]:
    """The headers of a signature over the very bytes that will be sent."""
    from botocore.awsrequest import AWSRequest

    from unabridged.providers.http import encoded

    request = AWSRequest("POST", url, data=encoded(body), headers={"content-type": "application/json"})
    signer.add_auth(request)
    return {name.lower(): str(value) for name, value in request.headers.items() if name.lower() != "host"}
