/**
 * Logs and publishes when this process opens or closes a circuit, and when a provider begins to
 * refuse the gateway's credentials. A failed probe is not an event, because the circuit stays open.
 */
import { Effect, Layer, Stream } from "effect"
import { Events } from "../../domain/Events.ts"
import { Circuits } from "./Circuits.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { changes, refusals } = yield* Circuits
    const events = yield* Events
    yield* Effect.forkScoped(
      Stream.runForEach(changes, ({ isOpen, model, provider }) =>
        Effect.andThen(
          Effect.annotateLogs(
            isOpen
              ? Effect.logWarning("a circuit opened: the provider keeps failing and gets no calls for a while")
              : Effect.logInfo("a circuit closed: the provider answers again"),
            { provider, model }
          ),
          events.publish(isOpen ? "circuit.opened" : "circuit.closed", { provider, model })
        )
      ),
      { startImmediately: true }
    )
    yield* Effect.forkScoped(
      Stream.runForEach(refusals, (refusal) => events.publish("provider.refused", { ...refusal })),
      { startImmediately: true }
    )
  })
)
