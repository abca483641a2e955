"""openai: embeddings, and the list of models."""

import openai as library
import vectors
from cases.openai_chat import client
from harness import World, case, expect, expect_in, raised
from openai import AsyncOpenAI

MODEL = "openai/text-embedding-3-small"


def embed(world: World, value, **members):
    return client(world).embeddings.create(model=MODEL, input=value, **members)


def check(reply, count: int, size: int = vectors.SIZE) -> None:
    expect("indexes", [one.index for one in reply.data], list(range(count)))
    expect("vectors", [one.embedding for one in reply.data], [vectors.vector(index, size) for index in range(count)])


@case("openai", "embeddings")
def embeds_by_default(world: World) -> None:
    """embeds texts, in base64 as the client asks by default"""
    reply = embed(world, ["alpha", "beta", "gamma"])
    check(reply, 3)
    expect("tokens", (reply.usage.prompt_tokens, reply.usage.total_tokens), (12, 12))
    expect("encoding asked", world.sent[0].request.get("encoding_format"), "base64")


@case("openai", "embeddings")
def embeds_floats(world: World) -> None:
    """embeds one text as floats"""
    check(embed(world, "alpha", encoding_format="float"), 1)


@case("openai", "embeddings")
def embeds_dimensions(world: World) -> None:
    """embeds with fewer dimensions, for a user"""
    check(embed(world, ["alpha", "beta"], dimensions=4, user="u-1"), 2, 4)


@case("openai", "embeddings")
def embeds_token_ids(world: World) -> None:
    """embeds one list of token ids"""
    check(embed(world, [101, 2023, 2003]), 1)


@case("openai", "embeddings")
def embeds_lists_of_token_ids(world: World) -> None:
    """embeds several lists of token ids"""
    check(embed(world, [[101, 2023], [2003], [7]]), 3)


@case("openai", "embeddings")
async def embeds_async(world: World) -> None:
    """embeds for the async client"""
    async with AsyncOpenAI(base_url=world.url, api_key=world.key, max_retries=0) as openai:
        check(await openai.embeddings.create(model=MODEL, input=["alpha", "beta"]), 2)


@case("openai", "models")
def lists_models(world: World) -> None:
    """lists the models, page by page"""
    models = list(client(world).models.list())
    expect_in("id", "openai/gpt-4o", [one.id for one in models])
    expect("objects", {one.object for one in models}, {"model"})


@case("openai", "models")
def retrieves_a_model(world: World) -> None:
    """retrieves one model"""
    one = client(world).models.retrieve("openai/gpt-4o")
    expect("model", (one.id, one.object, one.owned_by), ("openai/gpt-4o", "model", "openai"))


@case("openai", "models")
def misses_a_model(world: World) -> None:
    """tells of a model that does not exist"""
    error = raised(library.NotFoundError, lambda: client(world).models.retrieve("openai/gpt-none"))
    expect("code", error.code, "model_not_found")
