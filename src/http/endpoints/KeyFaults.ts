/**
 * Checks of a new or changed key that its schema cannot make: an expiry in the past, and models
 * that do not exist unless the client sends `force`. A bare slug is resolved to the one model with
 * that name.
 */
import { Clock, DateTime, Effect, Result } from "effect"
import { type HttpServerResponse } from "effect/http"
import { type ValidationError } from "../../api/Failure.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { nearest } from "../../domain/Nearest.ts"
import { Catalog } from "../../gateway/routing/Catalog.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { validationResponse } from "../errors/ErrorResponse.ts"
import { MAX_FAULTS } from "../body/ValidationFaults.ts"

/** Finding the nearest name takes time, so only the first faults suggest one. */
const MAX_SUGGESTIONS = 10

interface Wanted {
  readonly allowed_models?: ReadonlyArray<string> | null
  readonly expires_at?: DateTime.Utc | null
  readonly force?: boolean
}

/** `made`: whether the key is created or changed. */
type Check = <P extends Wanted, A, R>(
  payload: P,
  made: "made" | "changed",
  run: (checked: P) => Effect.Effect<A, GatewayError, R>
) => Effect.Effect<A | HttpServerResponse.HttpServerResponse, GatewayError, R>

/** Runs a handler with the checked payload, or responds with the 422 that lists every fault. */
export const makeCheck: Effect.Effect<Check, never, Catalog> = Effect.map(Catalog, (catalog): Check =>
  Effect.fnUntraced(function* (payload, made, run) {
    const models = payload.allowed_models
    const faults = keyFaults(catalog, made, yield* Clock.currentTimeMillis, {
      models: models ?? [],
      expiresAt: payload.expires_at ?? null,
      force: payload.force === true
    })
    if (faults.length > 0) return validationResponse(faults, yield* CurrentRequest)
    const known = models?.map((entry) => knownAs(catalog, entry) ?? entry)
    return yield* run(known === undefined ? payload : { ...payload, allowed_models: known })
  })
)

/** Entries that are not strings are left to the schema. */
export const keyFaults = (
  catalog: Models,
  made: "made" | "changed",
  nowMs: number,
  wanted: {
    readonly models: ReadonlyArray<unknown>
    readonly expiresAt: DateTime.Utc | null
    readonly force: boolean
  }
): ReadonlyArray<ValidationError> => {
  const faults: Array<ValidationError> = []
  const { expiresAt, force, models } = wanted
  if (made === "made" && expiresAt !== null && DateTime.toEpochMillis(expiresAt) <= nowMs) {
    faults.push({ loc: ["body", "expires_at"], msg: "Input should be in the future", type: "datetime_future" })
  }
  if (force) return faults
  for (const [index, entry] of models.entries()) {
    if (faults.length === MAX_FAULTS) break
    if (typeof entry !== "string" || knownAs(catalog, entry) !== null) continue
    faults.push({
      loc: ["body", "allowed_models", index],
      msg: faultOf(catalog, entry, faults.length < MAX_SUGGESTIONS),
      type: "value_error",
      input: entry.slice(0, 64)
    })
  }
  return faults
}

type Models = Catalog["Service"]

/** The entry in the form that the whitelist compares; null when it matches no model. */
const knownAs = ({ models, resolve }: Models, entry: string): string | null => {
  if (entry === "*") return entry
  if (entry.endsWith("/*")) return models.some(({ id }) => id.startsWith(entry.slice(0, -1))) ? entry : null
  const model = resolve(entry)
  return Result.isSuccess(model) ? model.success.id : null
}

const faultOf = ({ models, resolve }: Models, entry: string, suggests: boolean): string => {
  const model = resolve(entry)
  const reason = Result.isFailure(model) ? model.failure.reason : undefined
  const ambiguous = reason?._tag === "ModelNotFound" ? reason.ambiguous : []
  if (ambiguous.length > 0) return `Value error, several models have this name: ${ambiguous.join(", ")}`
  const ids = entry.endsWith("/*")
    ? [...new Set(models.map(({ id }) => `${id.slice(0, id.indexOf("/"))}/*`))]
    : models.map(({ id }) => id)
  const near = suggests ? nearest(entry, ids) : null
  return `Value error, no model has this name${near === null ? "" : `, did you mean '${near}'?`} (\`force: true\` accepts it anyway)`
}
