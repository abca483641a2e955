/**
 * Keeps responses for clients that continue or read them. A stored response holds its whole
 * conversation, so it needs no earlier one: deleting one deletes its id, and no later response
 * loses its history. It is sealed with the secret that the caller sent (gateway/Sealing): only this
 * key reads it, and only under this secret. Everything else is told that there is no such response.
 *
 * Without a retention nothing is kept. A response that cannot be kept is answered all the same.
 */
import { hash } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Predicate, type Redacted } from "effect"
import { gatewayError, type GatewayError, InvalidRequest, NotFound, Overloaded } from "../../domain/Errors.ts"
import { parseExactly, parseJson } from "../../domain/json/Json.ts"
import { JsonShape } from "../../domain/json/JsonShape.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { makeTurns } from "../../domain/runtime/Turns.ts"
import { ResponseStore } from "../../store/responses/ResponseStore.ts"
import { KEY_BYTES, keyMaterial, makeSealing } from "../Sealing.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

type Members = Readonly<Record<string, unknown>>

/** The key that responses belong to, with the secret that its caller sent. */
export interface Keeper {
  readonly keyId: string
  readonly secret: Redacted.Redacted
}

/** A response with the items that it answered: those of earlier turns, then the client's. */
export interface KeptResponse {
  readonly response: Members & { readonly id: string; readonly output: ReadonlyArray<Members> }
  readonly input: ReadonlyArray<Members>
}

/** Whether the process has room for a text of so many characters. */
export type HasRoom = (characters: number) => boolean

/**
 * A longer JSON text is not kept, nor one that is more complex than the body of a request may be.
 */
export const MAX_KEPT_CHARACTERS = 8_388_608

/** Each step with a longer text takes a turn of its own. */
const LARGE_CHARACTERS = 1_048_576

/** What a key may keep, sealed. Its oldest responses are deleted beyond it. */
export const MAX_KEY_BYTES = 268_435_456

/** A process trims a key after it has stored so much for it. */
const TRIM_BYTES = MAX_KEY_BYTES / 8

/** A process remembers at most so many keys for which it stored something since it trimmed them. */
const MAX_KEYS = 10_000

/** Change this with the format of stored responses: those of an older format are then not found. */
const FORM = "tollgate kept response 1"

export class StoredResponses extends Context.Service<
  StoredResponses,
  {
    /** Whether a response to a request with this `store` is kept. */
    readonly keeps: (store: boolean | null | undefined) => boolean
    /** Stores a response. False if that was not possible, which is logged. */
    readonly keep: (keeper: Keeper, kept: KeptResponse) => Effect.Effect<boolean>
    /** The items of a conversation up to and with this response, for `previous_response_id`. */
    readonly history: (
      keeper: Keeper,
      id: string,
      hasRoom: HasRoom
    ) => Effect.Effect<ReadonlyArray<Members>, GatewayError>
    /** The id of the response that answered this item. None: it is not known here. */
    readonly ofItem: (keeper: Keeper, itemId: string) => Effect.Effect<Option.Option<string>, GatewayError>
    readonly get: (keeper: Keeper, id: string, hasRoom: HasRoom) => Effect.Effect<KeptResponse, GatewayError>
    /** Deletes a response of the key, whichever of its secrets it was stored under. */
    readonly remove: (keyId: string, id: string) => Effect.Effect<void, GatewayError>
    /** Deletes all responses of a key. They expire anyway, so a failure is only logged. */
    readonly removeAll: (keyId: string) => Effect.Effect<void>
  }
>()("tollgate/gateway/responses/StoredResponses") {
  static readonly layer = ({ retentionDays }: { readonly retentionDays: number | null }) =>
    Layer.effect(
      StoredResponses,
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const turns = yield* makeTurns
        const turn = (text: string) => (text.length > LARGE_CHARACTERS ? turns.next : Effect.void)
        /** Bytes that this process stored since it trimmed the key. */
        const stored = new Map<string, number>()

        const trimmed = (keyId: string, bytes: number) =>
          Effect.suspend(() => {
            const before = stored.get(keyId)
            if (before !== undefined && before + bytes <= TRIM_BYTES) {
              stored.set(keyId, before + bytes)
              return Effect.void
            }
            if (before === undefined && stored.size >= MAX_KEYS) stored.clear()
            stored.set(keyId, 0)
            return Effect.ignore(store.trim(keyId, MAX_KEY_BYTES))
          })

        const keep = Effect.fn("StoredResponses.keep")(
          function* (keeper: Keeper, kept: KeptResponse) {
            if (retentionDays === null) return false
            const text = JSON.stringify(kept)
            if (text.length > MAX_KEPT_CHARACTERS) return false
            yield* turn(text)
            if (shapeOf(text).excess !== null) return false
            yield* turn(text)
            const { id } = kept.response
            const sealed = yield* sealingOf(keeper, id).close(text)
            const expiresAtMs = (yield* Clock.currentTimeMillis) + retentionDays * DAY_MS
            yield* store.insert({ keyId: keeper.keyId, id, sealed, expiresAtMs })
            // A provider of this API names its items itself: they point to their response.
            for (const { id: item } of kept.response.output) {
              if (typeof item !== "string" || ownItem.test(item)) continue
              const pointer = pointerOf(item)
              const target = yield* sealingOf(keeper, pointer).close(id)
              yield* store.insert({ keyId: keeper.keyId, id: pointer, sealed: target, expiresAtMs })
            }
            yield* trimmed(keeper.keyId, sealed.length)
            return true
          },
          Effect.catchCause((cause) => Effect.as(Effect.logWarning("a response could not be stored", cause), false))
        )

        /** What is stored under an id. None: this caller has no such thing. */
        const opened = Effect.fnUntraced(function* (keeper: Keeper, id: string) {
          const found = yield* store.find({ keyId: keeper.keyId, id }, yield* Clock.currentTimeMillis)
          return Option.isNone(found)
            ? Option.none<string>()
            : yield* Effect.option(sealingOf(keeper, id).open(found.value))
        }, orUnavailable)

        const textOf = (keeper: Keeper, id: string) =>
          retentionDays === null || !idForm.test(id) ? Effect.succeedNone : opened(keeper, id)

        const ofItem = (keeper: Keeper, itemId: string) => {
          const own = ownItem.exec(itemId)?.[1]
          if (own !== undefined) return Effect.succeedSome(`resp_${own}`)
          return retentionDays === null ? Effect.succeedNone : opened(keeper, pointerOf(itemId))
        }

        const keptIn = Effect.fnUntraced(function* (text: string, hasRoom: HasRoom) {
          if (!hasRoom(text.length)) return yield* gatewayError(new Overloaded())
          yield* turn(text)
          const { hasLongNumber } = shapeOf(text)
          yield* turn(text)
          const kept = hasLongNumber ? parseExactly(text) : parseJson(text)
          if (isKept(kept)) return kept
          return yield* Effect.die(new Error("what was sealed here is no response, which is impossible"))
        })

        const history = Effect.fn("StoredResponses.history")(function* (keeper: Keeper, id: string, hasRoom: HasRoom) {
          if (retentionDays === null) return yield* gatewayError(switchedOff)
          const text = yield* textOf(keeper, id)
          if (Option.isNone(text)) return yield* gatewayError(notContinued(id))
          const { input, response } = yield* keptIn(text.value, hasRoom)
          return [...input, ...response.output]
        })

        const get = Effect.fn("StoredResponses.get")(function* (keeper: Keeper, id: string, hasRoom: HasRoom) {
          const text = yield* textOf(keeper, id)
          if (Option.isNone(text)) return yield* gatewayError(new NotFound({ what: "response", id }))
          return yield* keptIn(text.value, hasRoom)
        })

        const remove = Effect.fn("StoredResponses.remove")(function* (keyId: string, id: string) {
          const isOn = retentionDays !== null && idForm.test(id)
          const isRemoved = isOn && (yield* store.remove({ keyId, id }, yield* Clock.currentTimeMillis))
          if (!isRemoved) return yield* gatewayError(new NotFound({ what: "response", id }))
        }, orUnavailable)

        return StoredResponses.of({
          keeps: (wanted) => retentionDays !== null && wanted !== false,
          keep,
          history,
          ofItem,
          get,
          remove,
          removeAll: (keyId) =>
            Effect.catchCause(store.removeAll(keyId), (cause) =>
              Effect.logWarning("the responses of a key could not be deleted; they expire", cause)
            )
        })
      })
    )
}

/** No other id is looked up. */
const idForm = /^resp_\w{1,64}$/

/** An item that the gateway named has the id of its response in its own: see `suffixOf`. */
const ownItem = /^[a-z]+_([0-9a-f]{32})\d+$/

/** Not the form of a response's id, so that it is no response to a client. */
const pointerOf = (itemId: string): string => `item_${hash("sha256", itemId, "hex")}`

/** Each response has a key of its own, so that none opens in another's place. */
const sealingOf = ({ keyId, secret }: Keeper, id: string) => {
  const name = `${keyId}\n${id}`
  return makeSealing(keyMaterial(secret, name, FORM, KEY_BYTES), name)
}

const isKept = (value: unknown): value is KeptResponse =>
  Predicate.isObject(value) && Predicate.isObject(value["response"]) && Array.isArray(value["input"])

const shapeOf = (text: string) => {
  const shape = new JsonShape()
  const excess = shape.take(Buffer.from(text))
  return { excess, hasLongNumber: shape.hasLongNumber }
}

const refusal = (code: string, message: string): InvalidRequest =>
  new InvalidRequest({ message, param: "previous_response_id", code, provider: null })

const switchedOff = refusal(
  "unsupported_parameter",
  "This gateway does not store responses, so previous_response_id cannot be used. Send the whole conversation in 'input', or ask the gateway's operator to set responses.retention_days."
)

/** An id as a message quotes it: records of refusals leave out what is between the quotes. */
export const quotable = (id: string): string => id.slice(0, 80).replaceAll("'", "")

/** OpenAI's words. */
const notContinued = (id: string): InvalidRequest =>
  refusal("previous_response_not_found", `Previous response with id '${quotable(id)}' not found.`)
