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
      Stream.runForEach(changes, ({ cause, isOpen, model, of, provider }) => {
        // The refusal of credentials has its own log line and event.
        if (of === "credentials") return Effect.void
        const why = cause === null ? {} : { error_type: cause.errorType, http_status: cause.httpStatus }
        const words = cause?.message == null ? {} : { provider_message: cause.message }
        return Effect.andThen(
          Effect.annotateLogs(
            isOpen
              ? Effect.logWarning("a circuit opened: the provider keeps failing and gets no calls for a while")
              : Effect.logInfo("a circuit closed: the provider answers again"),
            { provider, model, ...why, ...words }
          ),
          events.publish(isOpen ? "circuit.opened" : "circuit.closed", { provider, model, ...why })
        )
      }),
      { startImmediately: true }
    )
    yield* Effect.forkScoped(
      Stream.runForEach(refusals, (refusal) => events.publish("provider.refused", { ...refusal })),
      { startImmediately: true }
    )
  })
)
