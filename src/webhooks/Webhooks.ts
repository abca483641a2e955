/**
 * Delivers events to webhooks, outside of requests. Each event is signed and posted to every
 * address that subscribes to its type, at least once. Events are queued in the database, so they
 * survive the process. A failed delivery is retried at growing intervals for about a quarter of an
 * hour; after that the event is stored as a dead letter. Until the database has an event it is held
 * in memory, within a bound. Order is not guaranteed. Only the status of a response is read.
 */
import { Cause, Clock, Duration, Effect, Layer, Metric, Queue, Result, Schedule } from "effect"
import { Events, type GatewayEvent } from "../domain/Events.ts"
import { Ids } from "../domain/Ids.ts"
import { Outbound } from "../providers/transport/Outbound.ts"
import { type SettingsShape } from "../Settings.ts"
import { DeadLetterStore } from "../store/webhooks/DeadLetterStore.ts"
import { type Delivery, DeliveryQueue } from "../store/webhooks/DeliveryQueue.ts"
import { signatureOf } from "./Signature.ts"

/** Deliveries that are not stored yet, and the longest body. */
export const MOST_IN_MEMORY = 1_000
export const MOST_CHARACTERS = 65_536
/** How many events are sent to one address at once. */
const AT_ONCE = 8
const ATTEMPTS = 11
const CALL_TIMEOUT_MS = 10_000
const WHOLE_CALL = Duration.seconds(15)
const AGAIN = "1 second"
/** For the database to take what is still in memory when the process stops. */
const LAST_WRITES = "5 seconds"
const DEAD_LETTERS_KEPT_MS = 90 * 86_400_000
const DELETE_EVERY = "1 hour"

export type Webhook = SettingsShape["webhooks"][number]

const deliveries = (result: "delivered" | "failed" | "dead" | "lost") =>
  Metric.counter("tollgate.webhooks.deliveries", {
    description: "Webhook deliveries: delivered, failed and retried, given up, lost before they were stored",
    incremental: true,
    attributes: { result, unit: "{event}" }
  })
const counters = {
  delivered: deliveries("delivered"),
  failed: deliveries("failed"),
  dead: deliveries("dead"),
  lost: deliveries("lost")
}

/** A failed delivery. `why` is our own text. */
class DeliveryFailed {
  readonly _tag = "DeliveryFailed"
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

const annotated = ({ eventId, type, url }: Delivery, reason: string) =>
  Effect.annotateLogs({ event_id: eventId, event_type: type, webhook: url, reason })

const makeBury = Effect.gen(function* () {
  const letters = yield* DeadLetterStore
  const ids = yield* Ids
  /** Stores a failed delivery as a dead letter. */
  return Effect.fnUntraced(function* (delivery: Delivery, attempts: number, lastError: string) {
    const nowMs = yield* Clock.currentTimeMillis
    const { retried, ...event } = delivery
    const id = retried?.letterId ?? ids.next("dlv", nowMs)
    yield* letters.add({ ...event, id, attempts, lastError, failedAtMs: nowMs, retriedAtMs: null })
    yield* Metric.update(counters.dead, 1)
    yield* Effect.logWarning("a webhook delivery failed; the event is stored as a dead letter").pipe(
      annotated(delivery, lastError)
    )
  })
})

/**
 * Starts the senders of one address. `webhook: null`: the settings do not have the address any
 * more, so each attempt fails without a call.
 */
const startSending = Effect.fnUntraced(function* (address: string, webhook: Webhook | null) {
  const outbound = yield* Outbound
  const queue = yield* DeliveryQueue
  const bury = yield* makeBury
  const url = new URL(address)

  const attempt = Effect.fnUntraced(function* ({ body, eventId, type }: Delivery) {
    if (webhook === null) return yield* Effect.fail(new DeliveryFailed("no webhook has this address"))
    const timestamp = Math.trunc((yield* Clock.currentTimeMillis) / 1000)
    const headers = {
      "content-type": "application/json",
      "x-tollgate-event": type,
      "x-tollgate-delivery": eventId,
      "x-tollgate-timestamp": String(timestamp),
      "x-tollgate-signature": signatureOf(webhook.secret, timestamp, body)
    }
    const { status } = yield* outbound.call({ method: "POST", url, headers, body, timeoutMs: CALL_TIMEOUT_MS }).pipe(
      Effect.mapError(({ _tag }) => new DeliveryFailed(_tag)),
      Effect.timeoutOrElse({ duration: WHOLE_CALL, orElse: () => Effect.fail(new DeliveryFailed("TimedOut")) })
    )
    if (status < 200 || status >= 300) return yield* Effect.fail(new DeliveryFailed(`status ${status}`))
  })

  const handle = Effect.fnUntraced(function* (delivery: Delivery, number: number) {
    // The process ended during the last attempt, or its dead letter could not be written.
    if (number > ATTEMPTS) return yield* bury(delivery, ATTEMPTS, "the last attempt was cut short")
    const outcome = yield* Effect.result(attempt(delivery))
    if (Result.isSuccess(outcome)) return yield* Metric.update(counters.delivered, 1)
    yield* Metric.update(counters.failed, 1)
    if (number < ATTEMPTS) return yield* Effect.fail(outcome.failure)
    yield* bury(delivery, number, outcome.failure.why)
  })

  const sendNext = queue.take(address, handle).pipe(
    Effect.catchTag("DeliveryFailed", () => Effect.void),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(
            Effect.logWarning("the deliveries to a webhook could not be read or written; trying again", cause),
            Effect.sleep(AGAIN)
          )
    )
  )
  const count = webhook === null ? 1 : AT_ONCE
  yield* Effect.forEach(Array.from({ length: count }), () => Effect.forkScoped(Effect.forever(sendNext)), {
    discard: true
  })
})

/** Stores deliveries in order. Returns the function that accepts one without waiting. */
const makeAccept = Effect.gen(function* () {
  const queue = yield* DeliveryQueue
  const bury = yield* makeBury
  const unwritten = new Set<Delivery>()
  const arrived = yield* Queue.unbounded<Delivery>()
  let isAway = false

  const lose = (delivery: Delivery, why: string) =>
    Effect.andThen(
      Metric.update(counters.lost, 1),
      Effect.logError("an event for a webhook is lost").pipe(annotated(delivery, why))
    )

  const forget = (delivery: Delivery, why: string) =>
    Effect.suspend(() => {
      unwritten.delete(delivery)
      return lose(delivery, why)
    })

  const write = Effect.fnUntraced(function* (delivery: Delivery) {
    const isKept = yield* queue.offer(delivery)
    if (!isKept) yield* bury(delivery, 0, "too many queued events")
    unwritten.delete(delivery)
    isAway = false
  })

  const sayOnce = Effect.suspend(() => {
    if (isAway) return Effect.void
    isAway = true
    return Effect.logWarning("the database does not take events for webhooks; they wait in memory")
  })

  yield* Effect.addFinalizer(() =>
    Effect.forEach(unwritten, write, { discard: true }).pipe(
      Effect.timeout(LAST_WRITES),
      Effect.catchCause(() => Effect.forEach(unwritten, (left) => lose(left, "the gateway stopped"), { discard: true }))
    )
  )
  const writeNext = Effect.flatMap(Queue.take(arrived), (delivery) =>
    Effect.tapError(write(delivery), () => sayOnce).pipe(
      Effect.retry(Schedule.spaced(AGAIN)),
      Effect.catchDefect((defect) => Effect.andThen(Effect.logError(defect), forget(delivery, "a defect")))
    )
  )
  yield* Effect.forkScoped(Effect.forever(writeNext))

  return (delivery: Delivery): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (delivery.body.length > MOST_CHARACTERS) return lose(delivery, "it is too large")
      if (unwritten.size >= MOST_IN_MEMORY) return lose(delivery, "the database is away, and too many events wait")
      unwritten.add(delivery)
      return Effect.asVoid(Queue.offer(arrived, delivery))
    })
})

/** The body of an event, the same for every address. */
const bodyOf = ({ createdAtMs, data, id, type }: GatewayEvent): string =>
  JSON.stringify({ id, type, created_at: new Date(createdAtMs).toISOString(), data })

/**
 * Starts senders for events that are queued for addresses that left the settings. They become dead
 * letters unless a process with older settings delivers them.
 */
const startOnFormer = Effect.fnUntraced(function* (webhooks: ReadonlyArray<Webhook>) {
  const addresses = yield* Effect.flatMap(DeliveryQueue, (queue) => queue.addresses)
  const former = addresses.filter((address) => !webhooks.some(({ url }) => url === address))
  yield* Effect.forEach(former, (address) => startSending(address, null), { discard: true })
})

/** Deletes old dead letters while the scope lasts. */
const startDeleting = Effect.gen(function* () {
  const letters = yield* DeadLetterStore
  const deleteOld = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    letters.deleteBefore(nowMs - DEAD_LETTERS_KEPT_MS)
  )
  yield* Effect.forkScoped(
    Effect.repeat(Effect.delay(Effect.ignore(deleteOld), DELETE_EVERY), Schedule.spaced(DELETE_EVERY))
  )
})

/** `Events` that deliver to these addresses. */
export const layer = (webhooks: ReadonlyArray<Webhook>) =>
  Layer.effect(
    Events,
    Effect.gen(function* () {
      const ids = yield* Ids
      const accept = yield* makeAccept
      yield* Effect.forEach(webhooks, (webhook) => startSending(webhook.url, webhook), { discard: true })
      yield* Effect.forkScoped(Effect.retry(startOnFormer(webhooks), Schedule.spaced("10 seconds")))
      yield* startDeleting
      return {
        publish: (type, data) =>
          Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
            const event = { id: ids.next("evt", nowMs), type, createdAtMs: nowMs, data }
            const delivery = { eventId: event.id, type, body: bodyOf(event), createdAtMs: nowMs }
            return Effect.forEach(
              webhooks.filter(({ events }) => events.includes(type)),
              ({ url }) => accept({ ...delivery, url }),
              { discard: true }
            )
          })
      }
    })
  )
