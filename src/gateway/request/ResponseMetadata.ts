/**
 * What the edge shows of a metered request in headers, the log and traces, whatever the outcome.
 * Some of it is known only after the answer has begun, or when there is none, so it cannot be
 * returned with the answer. It is recorded in one recorder that belongs to the edge. Only the
 * endpoints in chat/ record; the modules that they call return values or call back.
 */
import { type Generation } from "../../domain/Generation.ts"
import { type Tier } from "../../domain/Key.ts"
import { type LimitVerdict } from "../../store/limits/Limits.ts"

export interface ResponseMetadata {
  readonly generationId: string | null
  /** What remains of the rate limits. */
  readonly requests: LimitVerdict["requests"] | null
  readonly tokens: LimitVerdict["tokens"] | null
  readonly cache: "hit" | "miss" | "bypass" | null
  readonly provider: string | null
  /** The members of the request that the provider did not get. */
  readonly dropped: ReadonlyArray<string>
  /** The operation, once it is known. */
  readonly operation: "chat" | "embeddings" | null
  /** The tier of the key. */
  readonly tier: Tier | null
  /** The generation of the request, if it left one. */
  readonly generation: Generation | null
  /** The reply is a replay of an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean
}

const emptyMetadata: ResponseMetadata = {
  generationId: null,
  requests: null,
  tokens: null,
  cache: null,
  provider: null,
  dropped: [],
  operation: null,
  tier: null,
  generation: null,
  replayed: false
}

/** Records a part of the metadata. */
export type Note = (part: Partial<ResponseMetadata>) => void

/** What remains of the limits, for a recorder. */
export type LimitsLeft = Pick<LimitVerdict, "requests" | "tokens">

export class MetadataRecorder {
  readonly #metadata = { ...emptyMetadata }

  /** What is recorded so far. */
  get metadata(): ResponseMetadata {
    return this.#metadata
  }

  readonly note: Note = (part) => void Object.assign(this.#metadata, part)
}
