/**
 * What happens now and then and somebody outside wants to hear of: keys, budgets, circuits, providers. The port through which the gateway says it. By
 * default nobody listens, and saying it costs nothing.
 */
import { Context, Effect } from "effect"

export const eventTypes = [
  "budget.threshold",
  "budget.exhausted",
  "key.created",
  "key.rotated",
  "key.revoked",
  "circuit.opened",
  "circuit.closed",
  "provider.refused"
] as const
export type EventType = (typeof eventTypes)[number]

/** Names, figures and ids, in snake case; never a secret, a prompt, or a provider's words. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>

export interface GatewayEvent {
  /** `evt_…`, the same however often it is sent. */
  readonly id: string
  readonly type: EventType
  readonly createdAtMs: number
  readonly data: EventData
}

export interface EventsShape {
  /** Returns at once; who listens hears of it later. */
  readonly publish: (type: EventType, data: EventData) => Effect.Effect<void>
}

export const Events = Context.Reference<EventsShape>("tollgate/domain/Events", {
  defaultValue: () => ({ publish: () => Effect.void })
})
