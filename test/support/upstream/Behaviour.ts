/**
 * What the scripted upstream does with one request. Everything is data, because it travels to another process.
 */

/** A pause inside a reply: so many milliseconds, or until the test calls `open` with the gate's name. */
export type Pause = { readonly waitMs: number } | { readonly gate: string }

/** A piece that is written `times` times over: large bodies without sending them to the upstream's process first. */
export interface Repeated {
  readonly repeat: string
  readonly times: number
}

export interface Behaviour {
  /** 200 by default. */
  readonly status?: number
  /** `content-type` follows from the body unless it is given: JSON for `json`, an event stream for `chunks`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Before the status line is sent. */
  readonly before?: Pause
  /** A whole body, as JSON. */
  readonly json?: unknown
  /** A whole body, byte for byte. */
  readonly body?: string | Uint8Array
  /** A body in pieces, each written by itself, byte for byte; pauses between them where they stand. */
  readonly chunks?: ReadonlyArray<string | Uint8Array | Pause | Repeated>
  /** `chunks` are all that is written: status line and headers are theirs to bring. Its connection closes at the end. */
  readonly raw?: boolean
  /**
   * How it ends. `end`: as HTTP has it. `reset`: TCP reset after the last chunk. `close`: the connection is closed
   * without the body's terminator. `hang`: nothing more, for ever. `silence`: never even a status line.
   * `reset_at_once`: reset instead of an answer.
   */
  readonly ending?: "end" | "reset" | "close" | "hang" | "silence" | "reset_at_once"
}

/** A request as the upstream received it. */
export interface Received {
  /** Counts from 0. */
  readonly id: number
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The body's `model`, or that of the path; empty when there was none. */
  readonly model: string
  /** Parsed, if it was JSON. */
  readonly body: unknown
  readonly rawBody: string
  /** Unix milliseconds of the upstream's clock. */
  readonly receivedAtMs: number
  /** The client closed the connection before the reply was complete. */
  readonly closedEarly: boolean
  readonly closedAtMs: number | null
  /** Of the body, as far as the operating system took it. */
  readonly sentBytes: number
  /** The other side has read nothing for a second, and the system takes no more. */
  readonly isBlocked: boolean
  /** Local ports tell connections apart: requests with the same one shared a connection. */
  readonly clientPort: number
}

/** From the test to the upstream's process. */
export type Command =
  | {
      readonly type: "script"
      readonly id: number
      readonly model: string
      readonly behaviours: ReadonlyArray<Behaviour>
    }
  | { readonly type: "open"; readonly id: number; readonly gate: string }
  | { readonly type: "requests"; readonly id: number }
  | { readonly type: "reset"; readonly id: number }

/** From the upstream's process to the test. */
export type Report =
  | { readonly type: "listening"; readonly port: number }
  | { readonly type: "changed"; readonly requests: ReadonlyArray<Received> }
  | { readonly type: "done"; readonly id: number; readonly requests: ReadonlyArray<Received> }
