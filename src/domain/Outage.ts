/**
 * A time in which a circuit was open: a provider or one of its models got no calls, or only tries.
 * Openings that follow each other closely are one outage.
 */

/** Why a circuit opened: the failure of the last call before. */
export interface OutageCause {
  /** The error type of the attempt. */
  readonly errorType: string
  /** The provider's HTTP status, or null without an answer. */
  readonly httpStatus: number | null
  /** The provider's words without secrets and without the prompt, at most 300 characters. */
  readonly message: string | null
}

export interface Outage {
  readonly id: string
  readonly provider: string
  /** Null: every model of the provider. */
  readonly model: string | null
  readonly openedAtMs: number
  /** Null: it lasts. */
  readonly closedAtMs: number | null
  /** `restart`: the gateway started anew, and calls the provider again. */
  readonly closedBy: "answer" | "restart" | null
  /** How often the circuit opened. */
  readonly openings: number
  readonly cause: OutageCause | null
  /** The process that opened it last: host and process id. */
  readonly process: string
}
