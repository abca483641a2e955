/**
 * What the scripted upstream does with one request. It is plain data, because it is sent to another
 * process.
 */

/**
 * A pause inside a reply: a number of milliseconds, or until the test calls `open` with the gate's
 * name.
 */
export type Pause = { readonly waitMs: number } | { readonly gate: string }

/**
 * A piece that is written `times` times. Large bodies need not be sent to the upstream's process.
 */
export interface Repeated {
  readonly repeat: string
  readonly times: number
}

export interface Behaviour {
  /** 200 by default. */
  readonly status?: number
  /**
   * `content-type` depends on the body unless it is given: JSON for `json`, an event stream for
   * `chunks`.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** A pause before the status line. */
  readonly before?: Pause
  /** A whole body, as JSON. */
  readonly json?: unknown
  /** A whole body, byte for byte. */
  readonly body?: string | Uint8Array
  /** A body in pieces, each written separately, byte for byte, with pauses in between. */
  readonly chunks?: ReadonlyArray<string | Uint8Array | Pause | Repeated>
  /** The `chunks` contain the status line and the headers. The connection closes at the end. */
  readonly raw?: boolean
  /**
   * How the reply ends. `end`: properly in HTTP. `reset`: TCP reset after the last chunk. `close`:
   * the connection closes without the body's terminator. `hang`: it stays open for ever. `silence`:
   * not even a status line. `reset_at_once`: reset instead of an answer.
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
  /** The `model` of the body or of the path; empty if there is none. */
  readonly model: string
  /** Parsed, if it was JSON. */
  readonly body: unknown
  readonly rawBody: string
  /** Unix milliseconds of the upstream's clock. */
  readonly receivedAtMs: number
  /** The client closed the connection before the reply was complete. */
  readonly closedEarly: boolean
  readonly closedAtMs: number | null
  /** Bytes of the body that the operating system took. */
  readonly sentBytes: number
  /** The other side has read nothing for a second, and the system's buffers are full. */
  readonly isBlocked: boolean
  /** Requests with the same port shared a connection. */
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
