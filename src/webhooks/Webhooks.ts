/**
 * Delivers events to webhooks, outside of requests. Each event is signed and posted to every
 * address that subscribes to its type, at least once unless the process is killed. A failed
 * delivery is retried at growing intervals for about a quarter of an hour. After that, or when the
 * process stops, the event is stored as a dead letter. Order is not guaranteed. Only the status of
 * a response is read.
 */
import { Clock, Duration, Effect, Layer, Metric, Queue, Schedule } from "effect"
import { Events, type GatewayEvent } from "../domain/Events.ts"
import { Ids } from "../domain/Ids.ts"
import { Outbound } from "../providers/transport/Outbound.ts"
import { type SettingsShape } from "../Settings.ts"
import { Notices } from "../store/notices/Notices.ts"
import { signatureOf } from "./Signature.ts"

/** Events queued per address, and concurrent deliveries per address. */
const WAITING = 1_000
const AT_ONCE = 8
const RETRIES = 10
const FIRST_PAUSE = Duration.seconds(1)
const LONGEST_PAUSE = Duration.minutes(5)
const CALL_TIMEOUT_MS = 10_000
const WHOLE_CALL = Duration.seconds(15)
const BURY_RETRIES = 5

export type Webhook = SettingsShape["webhooks"][number]

/** An event for one address, with its attempts so far. */
interface Delivery {
  readonly event: GatewayEvent
  readonly body: string
  attempts: number
  lastError: string
}

const pauses = Schedule.min([Schedule.exponential(FIRST_PAUSE), Schedule.spaced(LONGEST_PAUSE)]).pipe(Schedule.jittered)

const deliveries = (result: "delivered" | "failed" | "dead") =>
  Metric.counter("tollgate.webhooks.deliveries", {
    description: "Webhook deliveries: delivered, failed and retried, given up",
    incremental: true,
    attributes: { result, unit: "{event}" }
  })
const counters = { delivered: deliveries("delivered"), failed: deliveries("failed"), dead: deliveries("dead") }

/** A failed delivery. `why` is our own text. */
class DeliveryFailed {
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

/** Starts the senders of one address. Returns the function that queues an event. */
const startSenders = Effect.fnUntraced(function* (webhook: Webhook) {
  const outbound = yield* Outbound
  const notices = yield* Notices
  const ids = yield* Ids
  const scope = yield* Effect.scope
  const url = new URL(webhook.url)
  const waiting = yield* Queue.dropping<Delivery>(WAITING)

  const attempt = Effect.fnUntraced(function* (delivery: Delivery) {
    const timestamp = Math.trunc((yield* Clock.currentTimeMillis) / 1000)
    delivery.attempts++
    const headers = {
      "content-type": "application/json",
      "x-tollgate-event": delivery.event.type,
      "x-tollgate-delivery": delivery.event.id,
      "x-tollgate-timestamp": String(timestamp),
      "x-tollgate-signature": signatureOf(webhook.secret, timestamp, delivery.body)
    }
    const { status } = yield* outbound
      .call({ method: "POST", url, headers, body: delivery.body, timeoutMs: CALL_TIMEOUT_MS })
      .pipe(
        Effect.mapError(({ _tag }) => new DeliveryFailed(_tag)),
        Effect.timeoutOrElse({ duration: WHOLE_CALL, orElse: () => Effect.fail(new DeliveryFailed("TimedOut")) })
      )
    if (status < 200 || status >= 300) return yield* Effect.fail(new DeliveryFailed(`status ${status}`))
  })

  const tried = (delivery: Delivery) =>
    Effect.tapError(attempt(delivery), ({ why }) => {
      delivery.lastError = why
      return Metric.update(counters.failed, 1)
    })

  const bury = Effect.fnUntraced(function* ({ attempts, body, event, lastError }: Delivery) {
    const nowMs = yield* Clock.currentTimeMillis
    yield* Metric.update(counters.dead, 1)
    yield* notices
      .bury({
        id: ids.next("dlv", nowMs),
        eventId: event.id,
        type: event.type,
        url: webhook.url,
        body,
        attempts,
        lastError,
        createdAtMs: event.createdAtMs,
        failedAtMs: nowMs
      })
      .pipe(
        Effect.retry({ times: BURY_RETRIES, schedule: pauses }),
        Effect.andThen(Effect.logWarning("a webhook delivery failed; the event is stored as a dead letter")),
        Effect.catch(() => Effect.logError("a webhook delivery failed, and the database did not store the event")),
        Effect.annotateLogs({ event_id: event.id, event_type: event.type, webhook: webhook.url, reason: lastError })
      )
  })

  // Interruption cannot lose an event between the queue and a sender: it is queued, being sent, or
  // buried.
  const sendNext = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(Queue.take(waiting)), (delivery) =>
      restore(Effect.retry(tried(delivery), { times: RETRIES, schedule: pauses })).pipe(
        Effect.matchCauseEffect({
          onSuccess: () => Metric.update(counters.delivered, 1),
          onFailure: () => bury(delivery)
        })
      )
    )
  )

  yield* Effect.addFinalizer(() =>
    Effect.flatMap(Queue.clear(waiting), (left) => Effect.forEach(left, bury, { discard: true }))
  )
  yield* Effect.forEach(Array.from({ length: AT_ONCE }), () => Effect.forkScoped(Effect.forever(sendNext)), {
    discard: true
  })

  return (event: GatewayEvent): Effect.Effect<void> => {
    if (!webhook.events.includes(event.type)) return Effect.void
    const delivery: Delivery = { event, body: bodyOf(event), attempts: 0, lastError: "the gateway stopped" }
    return Effect.flatMap(Queue.offer(waiting, delivery), (isTaken) =>
      isTaken
        ? Effect.void
        : Effect.asVoid(Effect.forkIn(bury({ ...delivery, lastError: "too many queued events" }), scope))
    )
  }
})

/** The body of an event, the same for every address. */
const bodyOf = ({ createdAtMs, data, id, type }: GatewayEvent): string =>
  JSON.stringify({ id, type, created_at: new Date(createdAtMs).toISOString(), data })

/** `Events` that deliver to these addresses. Closing the scope stores undelivered events. */
export const layer = (webhooks: ReadonlyArray<Webhook>) =>
  Layer.effect(
    Events,
    Effect.gen(function* () {
      const ids = yield* Ids
      const senders = yield* Effect.forEach(webhooks, startSenders)
      return {
        publish: (type, data) =>
          Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
            const event = { id: ids.next("evt", nowMs), type, createdAtMs: nowMs, data }
            return Effect.forEach(senders, (send) => send(event), { discard: true })
          })
      }
    })
  )
