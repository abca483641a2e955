/** `POST /v1/embeddings`: vectors in the requested encoding, in the order of the inputs. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EmbeddingRequest, EmbeddingResponse } from "../domain/Embedding.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { DeadlineHeaders } from "./schemas/Deadline.ts"
import { BodyBytes, errors, Validation } from "./Failure.ts"
import { IdempotencyHeaders } from "./schemas/Idempotency.ts"

export class EmbeddingsGroup extends HttpApiGroup.make("embeddings")
  .add(
    HttpApiEndpoint.post("embed", "/v1/embeddings", {
      headers: Schema.Struct({ ...IdempotencyHeaders.fields, ...DeadlineHeaders.fields }),
      payload: EmbeddingRequest,
      success: EmbeddingResponse,
      error: errors(400, 402, 403, 404, 409, 429, 500, 502, 503, 504)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "embeddings:write")
      .annotateMerge(OpenApi.annotations({ summary: "Create embeddings" }))
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Embeddings" })) {}
