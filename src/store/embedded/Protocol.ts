/** The messages between the main thread and the thread of the embedded database. */

/**
 * `Open` asks whether the database is open. `session` is the connection's number, and `bytes` are
 * the client's.
 */
export type ToWorker =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Write"; readonly session: number; readonly bytes: Uint8Array }
  | { readonly _tag: "End"; readonly session: number }
  | { readonly _tag: "Shutdown" }

/**
 * `Ready` and `Failed` reply to `Open`. `Written` replies to each `Write` once its statements have
 * run.
 */
export type FromWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "Data"; readonly session: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Written"; readonly session: number }
  | { readonly _tag: "Ended"; readonly session: number }

export interface WorkerInput {
  /** Directory of the database. */
  readonly directory: string
}
