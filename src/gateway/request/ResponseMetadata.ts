/**
 * What the edge shows of a metered request in headers, in the log and in traces, whatever the ending. Some of it is known only after
 * the answer has begun, or when there will be none, so it cannot all be returned with the answer. It is recorded instead, in one
 * recorder that belongs to the edge. The endpoints in chat/ are the only ones that record; what they call returns to them or calls back.
 */
import { type Generation } from "../../domain/Generation.ts"
import { type Tier } from "../../domain/Key.ts"
import { type LimitVerdict } from "../../store/limits/Limits.ts"

export interface ResponseMetadata {
  readonly generationId: string | null
  /** What the rate limits have left. */
  readonly requests: LimitVerdict["requests"] | null
  readonly tokens: LimitVerdict["tokens"] | null
  readonly cache: "hit" | "miss" | "bypass" | null
  readonly provider: string | null
  /** What was asked for, once that is known. */
  readonly operation: "chat" | "embeddings" | null
  /** Of the key. */
  readonly tier: Tier | null
  /** How it ended, for a request that left a generation. */
  readonly generation: Generation | null
  /** The reply is that of an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean
}

const nothingYet: ResponseMetadata = {
  generationId: null,
  requests: null,
  tokens: null,
  cache: null,
  provider: null,
  operation: null,
  tier: null,
  generation: null,
  replayed: false
}

/** Records a part of the metadata. */
export type Note = (part: Partial<ResponseMetadata>) => void

/** What the limits have left, for whoever records it. */
export type LimitsLeft = Pick<LimitVerdict, "requests" | "tokens">

export class MetadataRecorder {
  readonly #metadata = { ...nothingYet }

  /** As it is recorded so far. */
  get metadata(): ResponseMetadata {
    return this.#metadata
  }

  readonly note: Note = (part) => void Object.assign(this.#metadata, part)
}
