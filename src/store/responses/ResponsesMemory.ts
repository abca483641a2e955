/**
 * Responses in memory, for tests and trials. Same guarantees as the table, until the process ends.
 */
import { Effect, Layer, Option } from "effect"
import { type ResponseRef, ResponseStore, type StoredResponse } from "./ResponseStore.ts"

export const makeResponsesMemory = (): ResponseStore["Service"] => {
  /** By name, in the order in which they came. */
  const stored = new Map<string, StoredResponse>()
  const nameOf = ({ id, keyId }: ResponseRef): string => `${keyId}\n${id}`
  const readable = (ref: ResponseRef, nowMs: number): StoredResponse | undefined => {
    const response = stored.get(nameOf(ref))
    return response !== undefined && response.expiresAtMs > nowMs ? response : undefined
  }
  const removeAllOf = (responses: ReadonlyArray<StoredResponse>): void => {
    for (const response of responses) stored.delete(nameOf(response))
  }
  const ofKey = (keyId: string) => [...stored.values()].filter((response) => response.keyId === keyId)

  return {
    insert: (response) =>
      Effect.sync(() => {
        if (!stored.has(nameOf(response))) stored.set(nameOf(response), response)
      }),

    find: (ref, nowMs) => Effect.sync(() => Option.fromUndefinedOr(readable(ref, nowMs)?.sealed)),

    remove: (ref, nowMs) =>
      Effect.sync(() => {
        const isFound = readable(ref, nowMs) !== undefined
        stored.delete(nameOf(ref))
        return isFound
      }),

    trim: (keyId, maxBytes) =>
      Effect.sync(() => {
        let bytes = 0
        removeAllOf(
          ofKey(keyId)
            .toReversed()
            .filter(({ sealed }) => (bytes += sealed.length) > maxBytes)
        )
      }),

    removeAll: (keyId) => Effect.sync(() => removeAllOf(ofKey(keyId))),

    deleteExpired: (nowMs, limit) =>
      Effect.sync(() => {
        const expired = [...stored.values()].filter(({ expiresAtMs }) => expiresAtMs <= nowMs).slice(0, limit)
        removeAllOf(expired)
        return expired.length
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(ResponseStore, makeResponsesMemory)
