/**
 * Tells webhooks of events, beside all requests: each event is posted, signed, to every address that asked for its type, at least once
 * unless the process is killed. One that is not taken is sent again, ever less often, for about a quarter of an hour; then, or when the
 * process stops before, it is kept as a dead letter. Order is not promised. What an address answers is read for its status alone.
 */
import { Clock, Duration, Effect, Layer, Metric, Queue, Schedule } from "effect"
import { Events, type GatewayEvent } from "../domain/Events.ts"
import { Ids } from "../domain/Ids.ts"
import { Outbound } from "../providers/transport/Outbound.ts"
import { type SettingsShape } from "../Settings.ts"
import { Notices } from "../store/notices/Notices.ts"
import { signatureOf } from "./Signature.ts"

/** Events that wait for one address, and how many are sent to it at once. */
const WAITING = 1_000
const AT_ONCE = 8
const RETRIES = 10
const FIRST_PAUSE = Duration.seconds(1)
const LONGEST_PAUSE = Duration.minutes(5)
const CALL_TIMEOUT_MS = 10_000
const WHOLE_CALL = Duration.seconds(15)
const BURY_RETRIES = 5

export type Webhook = SettingsShape["webhooks"][number]

/** An event of one address, and what became of it so far. */
interface Delivery {
  readonly event: GatewayEvent
  readonly body: string
  attempts: number
  lastError: string
}

const pauses = Schedule.min([Schedule.exponential(FIRST_PAUSE), Schedule.spaced(LONGEST_PAUSE)]).pipe(Schedule.jittered)

const deliveries = (result: "delivered" | "failed" | "dead") =>
  Metric.counter("tollgate.webhooks.deliveries", {
    description: "Events sent to webhooks: taken, not taken and tried again, given up",
    incremental: true,
    attributes: { result, unit: "{event}" }
  })
const counters = { delivered: deliveries("delivered"), failed: deliveries("failed"), dead: deliveries("dead") }

/** Not taken, for a reason of our own wording. */
class NotTaken {
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

/** Starts the senders of one address; answers what hands them an event. */
const sending = Effect.fnUntraced(function* (webhook: Webhook) {
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
        Effect.mapError(({ _tag }) => new NotTaken(_tag)),
        Effect.timeoutOrElse({ duration: WHOLE_CALL, orElse: () => Effect.fail(new NotTaken("TimedOut")) })
      )
    if (status < 200 || status >= 300) return yield* Effect.fail(new NotTaken(`status ${status}`))
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
        Effect.andThen(Effect.logWarning("a webhook did not take an event; it is kept as a dead letter")),
        Effect.catch(() => Effect.logError("a webhook did not take an event, and the database did not keep it")),
        Effect.annotateLogs({ event_id: event.id, event_type: event.type, webhook: webhook.url, reason: lastError })
      )
  })

  // Between taking an event and sending it nothing can come in: it is waiting, or with a sender, or buried.
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
        : Effect.asVoid(Effect.forkIn(bury({ ...delivery, lastError: "too many events wait" }), scope))
    )
  }
})

/** The body of an event, as every address gets it. */
const bodyOf = ({ createdAtMs, data, id, type }: GatewayEvent): string =>
  JSON.stringify({ id, type, created_at: new Date(createdAtMs).toISOString(), data })

/** `Events` that are told to these addresses. Closing its scope keeps what was not taken yet. */
export const layer = (webhooks: ReadonlyArray<Webhook>) =>
  Layer.effect(
    Events,
    Effect.gen(function* () {
      const ids = yield* Ids
      const senders = yield* Effect.forEach(webhooks, sending)
      return {
        publish: (type, data) =>
          Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
            const event = { id: ids.next("evt", nowMs), type, createdAtMs: nowMs, data }
            return Effect.forEach(senders, (send) => send(event), { discard: true })
          })
      }
    })
  )
