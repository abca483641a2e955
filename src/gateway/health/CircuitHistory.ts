/**
 * Records the changes of circuits in the store. A change takes no time of the request: what
 * happened to a circuit is summed up in memory and written a second later, so that a flapping
 * circuit costs one write a second at most. While the database is away the sums wait. A circuit
 * that the history has as open, and this process as closed, was closed by a restart.
 */
import { hostname } from "node:os"
import { Clock, Effect, Layer, Semaphore, Stream } from "effect"
import { type Candidate, type ProviderConfig } from "../../domain/Catalog.ts"
import { Ids } from "../../domain/Ids.ts"
import { type OutageChange, OutageStore } from "../../store/outages/OutageStore.ts"
import { type CircuitChange } from "./CircuitState.ts"
import { Circuits } from "./Circuits.ts"

const EVERY = "1 second"

/** What `change` adds to the changes that are not written yet. */
const added = (before: OutageChange | undefined, change: CircuitChange, id: string, process: string): OutageChange => {
  const { atMs, cause, isOpen, model, provider } = change
  const opened = before?.opened ?? null
  if (!isOpen) return { provider, model, opened, closedAtMs: atMs, closedBy: "answer" }
  return {
    provider,
    model,
    opened: { id, atMs, process, ...opened, openings: (opened?.openings ?? 0) + 1, cause },
    closedAtMs: null,
    closedBy: null
  }
}

/** `earlier`, which could not be written, and what happened since. */
const both = (earlier: OutageChange, later: OutageChange | undefined): OutageChange => {
  if (later === undefined) return earlier
  if (earlier.opened === null || later.opened === null) return { ...later, opened: earlier.opened ?? later.opened }
  const { atMs, id, openings } = earlier.opened
  return { ...later, opened: { ...later.opened, atMs, id, openings: openings + later.opened.openings } }
}

export const layer = (providers: ReadonlyArray<ProviderConfig>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const circuits = yield* Circuits
      const store = yield* OutageStore
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const thisProcess = `${hostname()}:${process.pid}`
      /** By circuit: as many as there are circuits. */
      let waiting = new Map<string, OutageChange>()

      const isOpenNow = (provider: string, model: string | null) => {
        const candidates = providers
          .filter(({ slug }) => slug === provider)
          .flatMap((config) => config.models.map((offer): Candidate => ({ provider: config, offer })))
          .filter(({ offer }) => model === null || offer.id === model)
        return Effect.map(
          Effect.forEach(candidates, (candidate) =>
            Effect.map(
              circuits.state(candidate),
              ({ state }) => state !== "closed" || circuits.refusedSinceMs(candidate) !== null
            )
          ),
          (states) => states.includes(true)
        )
      }

      /** Of the outages that last, those whose circuit is closed. */
      const closeForgotten = Effect.gen(function* () {
        const latest = yield* store.latest(clock.currentTimeMillisUnsafe())
        for (const { outage } of latest) {
          const { closedAtMs, model, provider } = outage
          if (closedAtMs !== null || (yield* isOpenNow(provider, model))) continue
          const nowMs = clock.currentTimeMillisUnsafe()
          yield* store.record({ provider, model, opened: null, closedAtMs: nowMs, closedBy: "restart" })
        }
      })

      const turn = yield* Semaphore.make(1)
      const write = turn.withPermits(1)(
        Effect.suspend(() => {
          const changes = waiting
          waiting = new Map()
          return Effect.forEach(
            changes,
            ([circuit, change]) =>
              Effect.catch(store.record(change), () =>
                Effect.sync(() => void waiting.set(circuit, both(change, waiting.get(circuit))))
              ),
            { discard: true }
          )
        })
      )

      yield* Effect.addFinalizer(() => write)
      yield* Effect.forkScoped(
        Stream.runForEach(circuits.changes, (change) =>
          Effect.sync(() => {
            const circuit = `${change.provider}|${change.model ?? ""}`
            const id = ids.next("out", change.atMs)
            waiting.set(circuit, added(waiting.get(circuit), change, id, thisProcess))
          })
        ),
        { startImmediately: true }
      )
      yield* Effect.forkScoped(
        Effect.andThen(Effect.ignore(closeForgotten), Effect.forever(Effect.delay(write, EVERY)))
      )
    })
  )
