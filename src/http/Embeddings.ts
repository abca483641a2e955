/** Embeddings at the edge: vectors in the encoding that was asked for, whatever the provider spoke. */
import { Effect } from "effect"
import { type Headers, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { type EmbeddingRequest } from "../domain/Embedding.ts"
import { Embeddings } from "../gateway/Embeddings.ts"
import { callerWith } from "./Authorization.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { guard } from "./Failure.ts"
import { sentKey } from "./IdempotencyKey.ts"
import { patienceOf } from "./Patience.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "embeddings",
  Effect.fnUntraced(function* (handlers) {
    const embeddings = yield* Embeddings

    const embed = Effect.fnUntraced(function* (request: EmbeddingRequest, headers: Headers.Headers) {
      const caller = yield* callerWith("embeddings:write")
      const { facts } = yield* CurrentRequest
      const { model, provider, usage, vectors } = yield* embeddings.run({
        request,
        caller,
        idempotencyKey: yield* sentKey(headers),
        facts,
        patience: patienceOf(headers)
      })
      const encode = request.encoding_format === "base64" ? base64 : (vector: ReadonlyArray<number>) => vector
      return HttpServerResponse.jsonUnsafe({
        object: "list",
        data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: encode(vector) })),
        model,
        provider,
        usage
      })
    })

    return handlers.handle("embed", ({ payload, request }) => guard(embed(payload, request.headers)))
  })
)

/** Little-endian float32, as OpenAI's clients decode it. */
const base64 = (vector: ReadonlyArray<number>): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, at) => bytes.writeFloatLE(value, at * 4))
  return bytes.toString("base64")
}
