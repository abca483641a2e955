/**
 * The clients of the chaos run. Each sends one request after the other to any of the gateways,
 * whatever happens, and records what it was told. Only complete answers count: a whole JSON reply,
 * or a stream up to its `[DONE]`.
 */
import { Effect, Random } from "effect"
import { type Gateway, promptMarker } from "../support/Gateway.ts"
import { type Answered } from "../support/GatewayHttp.ts"
import { type Grant } from "./limits.ts"
import { COMPLETION_TOKENS } from "./provider.ts"

export interface TestKey {
  readonly id: string
  readonly key: string
  readonly capUsd: number | null
  readonly requestsPerMinute: number
  readonly model: string
  /** Whether some of its clients leave in the middle of a stream. */
  readonly mayLeave: boolean
}

/** A complete answer that a client has received. */
export interface Told {
  readonly generationId: string
  readonly keyId: string
  /** Null: its answer had no amount, because the database was away at its end. */
  readonly billedUsd: number | null
}

export interface Notes {
  /** The number of calls; each call has its number in its prompt. */
  calls: number
  readonly told: Array<Told>
  /** Answers by status; 0: the connection broke. */
  readonly statuses: Map<number, number>
  /**
   * What the limits of a key granted, in milliseconds since the start. A client that leaves does
   * not know its tokens.
   */
  readonly granted: Map<string, Array<Grant>>
  /** Requests that a limit refused, by code. */
  readonly limited: Map<string, number>
  /** Answers that a client must never get. */
  readonly wrong: Array<string>
}

export const emptyNotes = (): Notes => ({
  calls: 0,
  told: [],
  statuses: new Map(),
  granted: new Map(),
  limited: new Map(),
  wrong: []
})

const expected = new Set([200, 402, 429, 502, 503, 504])

/** Sends requests until `isOver`, with a pause of up to `thinkMs` in between. */
export const client = Effect.fnUntraced(function* (options: {
  readonly gateways: () => ReadonlyArray<Gateway>
  readonly key: TestKey
  readonly notes: Notes
  readonly thinkMs: number
  readonly sinceMs: () => number
  readonly isOver: () => boolean
}) {
  const { gateways, isOver, key, notes, sinceMs, thinkMs } = options
  while (!isOver()) {
    yield* Effect.sleep(yield* Random.nextIntBetween(thinkMs / 2, thinkMs))
    const up = gateways()
    const gateway = up[yield* Random.nextIntBetween(0, up.length)]
    if (gateway === undefined || isOver()) continue
    const kind = yield* Random.nextIntBetween(key.mayLeave ? 0 : 1, 4)
    const body = {
      model: key.model,
      max_tokens: COMPLETION_TOKENS,
      messages: [{ role: "user", content: `${promptMarker} ${key.id} call ${++notes.calls}` }],
      metadata: { mock: { latency_ms: 20, tokens_per_second: 200 } }
    }
    const sentMs = sinceMs()
    const { status, tokens } = yield* Effect.match(
      kind === 0 ? leave(gateway, key, body) : ask(gateway, key, body, kind > 2, notes),
      {
        onFailure: () => broken,
        onSuccess: (outcome) => outcome
      }
    )
    notes.statuses.set(status, (notes.statuses.get(status) ?? 0) + 1)
    if (status === 200) {
      const granted = notes.granted.get(key.id) ?? []
      granted.push({ sentMs, answeredMs: sinceMs(), tokens })
      notes.granted.set(key.id, granted)
    }
    if (status !== 0 && !expected.has(status)) notes.wrong.push(`${status}`)
  }
})

type Body = Readonly<Record<string, unknown>>

interface Outcome {
  readonly status: number
  readonly tokens: number
}
const broken: Outcome = { status: 0, tokens: 0 }

/** A whole answer, JSON or stream. */
const ask = Effect.fnUntraced(function* (gateway: Gateway, key: TestKey, body: Body, streamed: boolean, notes: Notes) {
  const answered: Answered = yield* gateway.send("/v1/chat/completions", {
    key: key.key,
    body: { ...body, stream: streamed }
  })
  if (answered.status !== 200) {
    if (!answered.text.includes('"request_id"')) notes.wrong.push(answered.text)
    const limit = /"code":"(\w+)_limit_exceeded"/.exec(answered.text)?.[1]
    if (limit !== undefined) notes.limited.set(limit, (notes.limited.get(limit) ?? 0) + 1)
    return { status: answered.status, tokens: 0 }
  }
  const generationId = String(answered.headers["x-generation-id"])
  const usage = usageOf(answered.text, streamed)
  if (usage === null) notes.wrong.push(`a stream without an end: ${answered.text.slice(-200)}`)
  else notes.told.push({ generationId, keyId: key.id, billedUsd: usage.estimated_cost_usd ?? null })
  return { status: 200, tokens: usage?.total_tokens ?? 0 }
})

interface Usage {
  /** It has no amount if the database was away at the answer's end. */
  readonly usage: { readonly estimated_cost_usd?: number; readonly total_tokens: number }
}

/** The usage of a complete answer; null if the answer is not complete. */
export const usageOf = (text: string, isStream: boolean): Usage["usage"] | null => {
  if (!isStream) return (JSON.parse(text) as Usage).usage
  if (!text.endsWith("data: [DONE]\n\n")) return null
  const line = text.split("\n").findLast((line) => line.startsWith("data: {") && line.includes(`"usage":{`))
  return line === undefined ? null : (JSON.parse(line.slice(6)) as Usage).usage
}

/** Starts a stream of a number of tokens, one every `everyMs`. */
export const beginStream = Effect.fnUntraced(function* (options: {
  readonly gateway: Gateway
  readonly key: TestKey
  readonly notes: Notes
  readonly tokens: number
  readonly everyMs: number
}) {
  const { everyMs, gateway, key, notes, tokens } = options
  const content = `${promptMarker} ${key.id} call ${++notes.calls} every ${everyMs} ms`
  const stream = yield* gateway.stream("/v1/chat/completions", {
    key: key.key,
    body: { model: key.model, max_tokens: tokens, stream: true, messages: [{ role: "user", content }] },
    limitMs: STREAM_LIMIT_MS
  })
  const generationId = String(stream.headers["x-generation-id"])
  return {
    generationId,
    status: stream.status,
    begun: Effect.promise(() => stream.until(`"content":" a"`)),
    /** The end as the client received it. Dies if the answer is not complete. */
    whole: Effect.promise(async () => {
      const text = await stream.ended
      const usage = usageOf(text, true)
      if (usage === null) throw new Error(`a stream without an end: ${text.slice(-300)}`)
      notes.told.push({ generationId, keyId: key.id, billedUsd: usage.estimated_cost_usd ?? null })
    })
  }
})

/** Far longer than any stream of the scenarios. */
const STREAM_LIMIT_MS = 600_000

/** A stream whose client leaves after the first tokens. */
const leave = Effect.fnUntraced(function* (gateway: Gateway, key: TestKey, body: Body) {
  const stream = yield* gateway.stream("/v1/chat/completions", { key: key.key, body: { ...body, stream: true } })
  if (stream.status === 200) yield* Effect.tryPromise(() => stream.until(`"content"`))
  stream.leave()
  return { status: stream.status, tokens: 0 }
})
