/** Embeddings at the edge: vectors in the encoding that was asked for, whatever the provider spoke. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { EmbeddingRequest } from "../../domain/Embedding.ts"
import { Embeddings } from "../../gateway/chat/Embeddings.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { makeWriteList } from "../body/EmbeddingList.ts"
import { clientDeadlineOf } from "../edge/ClientDeadline.ts"

export const layer = authenticatedPost(
  { path: "/v1/embeddings", payload: EmbeddingRequest, scope: "embeddings:write" },
  Effect.gen(function* () {
    const embeddings = yield* Embeddings
    const write = yield* makeWriteList
    return ({ caller, headers, idempotencyKey, payload, state }) =>
      embeddings
        .run({ request: payload, caller, idempotencyKey, facts: state.facts, patience: clientDeadlineOf(headers) })
        .pipe(
          Effect.flatMap((embedded) => write(embedded, payload.encoding_format ?? "float")),
          Effect.map((body) => HttpServerResponse.uint8Array(body, { contentType: "application/json" }))
        )
  })
)
