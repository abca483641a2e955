/**
 * Which requests are recorded as refusals: requests to the API that ended in an error without a
 * generation. The endpoints of admins and of signed-in people are left out.
 */
import { type HttpServerRequest } from "effect/http"
import { type Refused } from "../../gateway/telemetry/RefusalLog.ts"
import { type RequestState } from "./CurrentRequest.ts"

const recorded = /^\/v1\/(?!admin\/|portal\/)/

export const refusalOf = (
  { caller, model, recorder, refused, requestId, route }: RequestState,
  { method, url }: HttpServerRequest.HttpServerRequest,
  arrivedAtMs: number
): Refused | null =>
  refused === null || recorder.metadata.generation !== null || !recorded.test(route ?? url)
    ? null
    : {
        ...refused,
        requestId,
        createdAtMs: Math.round(arrivedAtMs),
        endpoint: route === null ? null : `${method} ${route}`,
        keyId: caller?.key.id ?? null,
        ownerId: caller?.key.ownerId ?? null,
        model
      }
