/** Embeddings at the edge: vectors in the encoding that was asked for, whatever the provider spoke. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { EmbeddingRequest } from "../../domain/Embedding.ts"
import { Embeddings } from "../../gateway/chat/Embeddings.ts"
import { route } from "../edge/AuthenticatedPost.ts"
import { patienceOf } from "../edge/ClientDeadline.ts"

export const layer = route(
  { path: "/v1/embeddings", payload: EmbeddingRequest, scope: "embeddings:write" },
  Effect.map(
    Embeddings,
    (embeddings) =>
      ({ caller, headers, idempotencyKey, payload, state }) =>
        Effect.map(
          embeddings.run({
            request: payload,
            caller,
            idempotencyKey,
            facts: state.facts,
            patience: patienceOf(headers)
          }),
          ({ model, provider, usage, vectors }) => {
            const encode = payload.encoding_format === "base64" ? base64 : (vector: ReadonlyArray<number>) => vector
            return HttpServerResponse.jsonUnsafe({
              object: "list",
              data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: encode(vector) })),
              model,
              provider,
              usage
            })
          }
        )
  )
)

/** Little-endian float32, as OpenAI's clients decode it. */
const base64 = (vector: ReadonlyArray<number>): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, at) => bytes.writeFloatLE(value, at * 4))
  return bytes.toString("base64")
}
