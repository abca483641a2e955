/**
 * The embeddings endpoint. Vectors are sent in the encoding that the client requested, whichever
 * the provider used.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { EmbeddingsGroup } from "../../api/Embeddings.ts"
import { Embeddings } from "../../gateway/chat/Embeddings.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { makeWriteList } from "../body/EmbeddingList.ts"
import { originOf } from "../edge/CompletionQuery.ts"
import { clientDeadlineOf } from "../edge/ClientDeadline.ts"
import { idempotencyKeyOf } from "../edge/IdempotencyKey.ts"

export const layer = authenticatedPost(
  EmbeddingsGroup.endpoints.embed,
  Effect.gen(function* () {
    const embeddings = yield* Embeddings
    const write = yield* makeWriteList
    return ({ caller, credential, headers, payload, state }) =>
      embeddings
        .run({
          request: payload,
          caller,
          idempotencyKey: idempotencyKeyOf(headers, credential),
          origin: originOf(state),
          trace: state.trace,
          note: state.recorder.note,
          deadline: clientDeadlineOf(headers)
        })
        .pipe(
          Effect.flatMap((embedded) => write(embedded, payload.encoding_format ?? "float")),
          Effect.map((body) => HttpServerResponse.uint8Array(body, { contentType: "application/json" }))
        )
  })
)
