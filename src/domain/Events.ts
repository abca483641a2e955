/**
 * The port for events that webhooks deliver: keys, budgets, circuits, providers. By default there
 * is no subscriber, and publishing costs nothing.
 */
import { Context, Effect, Schema } from "effect"

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
export const EventType = Schema.Literals(eventTypes)
export type EventType = typeof EventType.Type

/** Names, numbers and ids, in snake case. Never a secret, a prompt or a provider's message. */
export type EventData = Readonly<Record<string, string | number | boolean | null>>

export interface GatewayEvent {
  /** `evt_…`, the same for every delivery of the event. */
  readonly id: string
  readonly type: EventType
  readonly createdAtMs: number
  readonly data: EventData
}

export interface EventsShape {
  /** Returns at once. Delivery happens later. */
  readonly publish: (type: EventType, data: EventData) => Effect.Effect<void>
}

export const Events = Context.Reference<EventsShape>("tollgate/domain/Events", {
  defaultValue: () => ({ publish: () => Effect.void })
})
