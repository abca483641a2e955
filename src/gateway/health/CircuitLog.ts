/**
 * What the circuits of this process know of their trouble: the failure that each had last, since
 * when it is open, and the changes that listeners are told.
 */
import { type Clock, Effect, PubSub, Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type OutageCause } from "../../domain/Outage.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { type CircuitChange, keyOf, namesOf } from "./CircuitState.ts"
import { causeOf } from "./FailureType.ts"

const FORBIDDEN = 403

export const makeCircuitLog = (clock: Clock.Clock) =>
  Effect.map(PubSub.unbounded<CircuitChange>(), (changes) => {
    /** By circuit. */
    const causes = new Map<string, OutageCause>()
    const openedAtMs = new Map<string, number>()

    const publish = (change: Omit<CircuitChange, "atMs">) =>
      Effect.suspend(() => PubSub.publish(changes, { ...change, atMs: clock.currentTimeMillisUnsafe() }))

    return {
      changes: Stream.fromPubSub(changes),

      failed: (circuit: string, error: ProviderError): void => void causes.set(circuit, causeOf(error)),

      wasLimited: (circuit: string): boolean => causes.get(circuit)?.errorType === "rate_limited",

      sinceMs: (candidate: Candidate): number | null => openedAtMs.get(keyOf(candidate)) ?? null,

      opened: (circuit: string) =>
        Effect.suspend(() => {
          openedAtMs.set(circuit, clock.currentTimeMillisUnsafe())
          return publish({ of: "circuit", ...namesOf(circuit), isOpen: true, cause: causes.get(circuit) ?? null })
        }),

      closed: (circuit: string) =>
        Effect.suspend(() => {
          openedAtMs.delete(circuit)
          causes.delete(circuit)
          return publish({ of: "circuit", ...namesOf(circuit), isOpen: false, cause: null })
        }),

      /** The provider refuses the gateway's credentials, for one model if it forbids that. */
      refused: ({ offer, provider }: Candidate, error: ProviderError) =>
        publish({
          of: "credentials",
          provider: provider.slug,
          model: error.httpStatus === FORBIDDEN ? offer.id : null,
          isOpen: true,
          cause: causeOf(error)
        }),

      /** It answered one model, so it accepts the credentials. */
      accepted: ({ offer, provider }: Candidate) =>
        Effect.forEach(
          [null, offer.id],
          (model) => publish({ of: "credentials", provider: provider.slug, model, isOpen: false, cause: null }),
          { discard: true }
        )
    }
  })
