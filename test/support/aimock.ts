/**
 * aimock in its own process: a provider that others wrote, so that calls are checked against an
 * independent implementation of the protocol. It answers by fixtures and records the requests.
 */
import { type FixtureFileEntry, type JournalEntry } from "@copilotkit/aimock"
import { Effect } from "effect"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Aimock {
  /** `http://127.0.0.1:<port>/v1`: a provider's base URL. */
  readonly url: string
  /** Every request so far, oldest first. */
  readonly journal: Effect.Effect<ReadonlyArray<JournalEntry>>
}

/** Ends with the scope. Dies when the fixtures are invalid. */
export const startAimock = (fixtures: ReadonlyArray<FixtureFileEntry>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const child = fork(fileURLToPath(new URL("./aimockServer.ts", import.meta.url)))
        const origin = await new Promise<string>((resolve, reject) => {
          child.once("exit", (code) => reject(new Error(`aimock ended with ${code} before it listened`)))
          child.once("message", ({ url }: { readonly url: string }) => resolve(url))
          child.send([...fixtures])
        })
        return { child, origin }
      }),
      ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
    ),
    ({ origin }): Aimock => ({
      url: `${origin}/v1`,
      journal: Effect.promise(
        async () => (await (await fetch(`${origin}/__aimock/journal`)).json()) as ReadonlyArray<JournalEntry>
      )
    })
  )
