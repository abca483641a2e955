"""A program as its user writes it with the client that openapi-python-client generates: no casts, no flags. mypy checks it
strictly. It prints what it read, as JSON."""

import json
import sys

from tollgate_api import AuthenticatedClient
from tollgate_api.api.administration_requests import admin_requests_list
from tollgate_api.api.api_keys import keys_create, keys_list, keys_revoke, keys_update
from tollgate_api.api.chat_completions import chat_complete
from tollgate_api.api.generations import generations_list
from tollgate_api.models import (
    AdminRequestsListEnd,
    ApiKey,
    ApiKeyList,
    ChatCompletionChunk,
    ChatCompletionRequest,
    ChatCompletionRequestMetadataType0,
    ChatCompletionResponse,
    ChatMessage,
    ChatMessageRole,
    CreateKeyRequest,
    ErrorEnvelope,
    ErrorType,
    GenerationList,
    HTTPValidationError,
    IssuedApiKey,
    ProviderPreferences,
    RequestList,
    UpdateKeyRequest,
)

base_url, model, admin_key = sys.argv[1:]
admin = AuthenticatedClient(base_url=base_url, token=admin_key, prefix="", auth_header_name="x-admin-key")

made = keys_create.sync(client=admin, body=CreateKeyRequest(name="service", monthly_budget_usd=5))
assert isinstance(made, IssuedApiKey), made
renamed = keys_update.sync(made.id, client=admin, body=UpdateKeyRequest(name="renamed"))
assert isinstance(renamed, ApiKey), renamed
listed = keys_list.sync(client=admin, limit=10)
assert isinstance(listed, ApiKeyList), listed

client = AuthenticatedClient(base_url=base_url, token=made.key)
question = [ChatMessage(role=ChatMessageRole.USER, content="Say hello.")]
whole = chat_complete.sync(
    client=client,
    body=ChatCompletionRequest(
        model=model,
        messages=question,
        metadata=ChatCompletionRequestMetadataType0.from_dict({"team": "billing"}),
        provider=ProviderPreferences(order=["openai"]),
    ),
)
assert isinstance(whole, ChatCompletionResponse), whole

# A stream is text. Each line of data is a chunk of the document.
said = ""
streamed = ChatCompletionRequest(model=model, messages=question, stream=True)
with client.get_httpx_client().stream("POST", "/v1/chat/completions", json=streamed.to_dict()) as reply:
    for line in reply.iter_lines():
        if line.startswith("data: {"):
            chunk = ChatCompletionChunk.from_dict(json.loads(line.removeprefix("data: ")))
            for choice in chunk.choices:
                said += choice.delta.additional_properties.get("content") or ""

unknown = chat_complete.sync(client=client, body=ChatCompletionRequest(model="nobody/none", messages=question))
assert isinstance(unknown, ErrorEnvelope), unknown
assert unknown.error.type_ is ErrorType.MODEL_NOT_FOUND, unknown
invalid = chat_complete.sync(
    client=client, body=ChatCompletionRequest(model=model, messages=question, temperature=9)
)
assert isinstance(invalid, HTTPValidationError), invalid

generations = generations_list.sync(client=client, limit=5)
assert isinstance(generations, GenerationList), generations
succeeded = admin_requests_list.sync(client=admin, key=made.id, end=AdminRequestsListEnd.SUCCEEDED, limit=20)
assert isinstance(succeeded, RequestList), succeeded
revoked = keys_revoke.sync(made.id, client=admin)
assert isinstance(revoked, ApiKey), revoked

print(
    json.dumps(
        {
            "name": renamed.name,
            "budget": made.monthly_budget_usd,
            "listed": made.id in [one.id for one in listed.data],
            "text": whole.choices[0].message.content,
            "said": said,
            "place": list(invalid.detail[0].loc),
            "generations": len(generations.data),
            "statuses": sorted(one.status for one in succeeded.data if one.status is not None),
            "revoked": revoked.status.value,
        }
    )
)
