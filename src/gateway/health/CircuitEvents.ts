/**
 * Says when this process opened a circuit, when it closed one again, and when a provider began to refuse our credentials. A circuit that
 * fails its probe was open all along.
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
        events.publish(isOpen ? "circuit.opened" : "circuit.closed", { provider, model })
      ),
      { startImmediately: true }
    )
    yield* Effect.forkScoped(
      Stream.runForEach(refusals, (refusal) => events.publish("provider.refused", { ...refusal })),
      { startImmediately: true }
    )
  })
)
