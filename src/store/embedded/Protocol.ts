/** What the main thread and the thread of the embedded database say to each other. */

/** `Open` asks whether the database is open. `session` numbers the connections; the bytes are the client's. */
export type ToWorker =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Write"; readonly session: number; readonly bytes: Uint8Array }
  | { readonly _tag: "End"; readonly session: number }
  | { readonly _tag: "Shutdown" }

/** `Ready` and `Failed` answer `Open`; `Written` answers each `Write`, once its statements have run. */
export type FromWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "Data"; readonly session: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Written"; readonly session: number }
  | { readonly _tag: "Ended"; readonly session: number }

export interface WorkerInput {
  /** Where the database is kept. */
  readonly directory: string
}
