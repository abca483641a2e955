/**
 * A refusal: a request that the gateway answered with an error before any provider was called, so
 * that it left no generation. The words are the gateway's own. They contain no prompt, no secret
 * and no other text of the client.
 */

export interface Refusal {
  /** `ref_…`, of the time at which the request arrived. */
  readonly id: string
  readonly requestId: string
  readonly createdAtMs: number
  /** The method and the declared path; null: there is no such route. */
  readonly endpoint: string | null
  /** The HTTP status that was sent. */
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly message: string
  /** Null: no valid key was sent. */
  readonly keyId: string | null
  readonly ownerId: string | null
  /** The id of the model that was asked for. Null: none, or none that exists. */
  readonly model: string | null
  /**
   * Usually 1. Of many alike refusals in one minute only the first have rows; the last row of the
   * minute stands for the others.
   */
  readonly count: number
}
