/** Says when this process opened a circuit, and when it closed one again. A circuit that fails its probe was open all along. */
import { Effect, Layer, Stream } from "effect"
import { Events } from "../domain/Events.ts"
import { Circuits } from "./Circuits.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { changes } = yield* Circuits
    const events = yield* Events
    yield* Effect.forkScoped(
      Stream.runForEach(changes, ({ isOpen, model, provider }) =>
        events.publish(isOpen ? "circuit.opened" : "circuit.closed", { provider, model })
      ),
      { startImmediately: true }
    )
  })
)
