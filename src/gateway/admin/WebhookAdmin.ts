/**
 * The webhooks as an operator sees them: addresses, deliveries, and events that no webhook
 * accepted. A dead letter is retried by queueing its event again under the same event id; the
 * sender signs it anew. A second retry before the first has ended has no effect.
 */
import { Clock, Context, Effect, Layer, Option } from "effect"
import { gatewayError, type GatewayError, InvalidRequest, NotFound } from "../../domain/Errors.ts"
import { type EventType } from "../../domain/Events.ts"
import { type DeadLetter, type DeadLetterPage, DeadLetterStore } from "../../store/webhooks/DeadLetterStore.ts"
import { DeliveryQueue } from "../../store/webhooks/DeliveryQueue.ts"
import { type AddressSummary, type DeliveryQuery, type DeliveryRecord } from "../../store/webhooks/DeliveryRecords.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { AuditLog } from "../telemetry/Audit.ts"

export interface WebhookAddress {
  readonly url: string
  readonly events: ReadonlyArray<EventType>
}

export interface WebhookState extends Omit<AddressSummary, "url"> {
  readonly url: string
  /** Null: the settings do not have the address any more, and deliveries to it wait. */
  readonly events: ReadonlyArray<EventType> | null
}

export interface DeliveryPage {
  readonly deliveries: ReadonlyArray<DeliveryRecord>
  readonly nextCursor: number | null
}

export interface RetriedLetters {
  readonly retried: number
  /** Letters that were left: their address is not in the settings, or its queue is full. */
  readonly left: number
}

/** The letters of one call that retries all. */
const MOST_RETRIED = 1_000
const PAGE = 100

const idle = { pending: 0, delivered: 0, dead: 0, lastDeliveredMs: null, lastFailedMs: null, lastError: null }

const refused = (message: string, code: string) =>
  gatewayError(new InvalidRequest({ message, param: null, code, provider: null }))

export class WebhookAdmin extends Context.Service<
  WebhookAdmin,
  {
    /**
     * Those of the settings, in their order, and then former ones with deliveries of the last day.
     */
    readonly list: Effect.Effect<ReadonlyArray<WebhookState>, GatewayError>
    /** Newest first. `limit` is at least 1. */
    readonly deliveries: (query: DeliveryQuery) => Effect.Effect<DeliveryPage, GatewayError>
    /** Newest first. `limit` is at least 1. */
    readonly deadLetters: (page: {
      readonly limit: number
      readonly cursor: string | null
    }) => Effect.Effect<DeadLetterPage, GatewayError>
    readonly retry: (id: string) => Effect.Effect<DeadLetter, GatewayError>
    /** Retries at most the newest thousand dead letters, of one address or of all. */
    readonly retryAll: (url: string | null) => Effect.Effect<RetriedLetters, GatewayError>
  }
>()("tollgate/gateway/admin/WebhookAdmin") {
  static readonly layer = ({ webhooks }: { readonly webhooks: ReadonlyArray<WebhookAddress> }) =>
    Layer.effect(
      WebhookAdmin,
      Effect.gen(function* () {
        const { audited } = yield* AuditLog
        const letters = yield* DeadLetterStore
        const queue = yield* DeliveryQueue

        const list = Effect.map(queue.summaries, (summaries) => {
          const former = summaries.filter(({ url }) => !webhooks.some((webhook) => webhook.url === url))
          return [
            ...webhooks.map(({ events, url }) => ({
              ...idle,
              ...summaries.find((summary) => summary.url === url),
              url,
              events
            })),
            ...former.map((summary) => ({ ...summary, events: null }))
          ]
        })

        const deliveries = Effect.fnUntraced(function* (query: DeliveryQuery) {
          const found = yield* queue.list({ ...query, limit: query.limit + 1 })
          const page = found.slice(0, query.limit)
          return { deliveries: page, nextCursor: found.length > query.limit ? (page.at(-1)?.position ?? null) : null }
        })

        /** Fails if the letter cannot be queued. */
        const requeue = Effect.fnUntraced(function* (letter: DeadLetter) {
          const { body, createdAtMs, eventId, failedAtMs, id, type, url } = letter
          if (letter.retriedAtMs !== null) return letter
          if (!webhooks.some((webhook) => webhook.url === url)) {
            return yield* refused(
              "No webhook of the settings has the address of this event, so that it has no secret to be signed with.",
              "webhook_not_configured"
            )
          }
          const delivery = { eventId, type, url, body, createdAtMs, retried: { letterId: id, failedAtMs } }
          if (!(yield* queue.offer(delivery))) {
            return yield* refused("Too many events wait for this address. Retry it later.", "webhook_queue_full")
          }
          const retriedAtMs = yield* Clock.currentTimeMillis
          yield* letters.markRetried(id, retriedAtMs)
          return { ...letter, retriedAtMs }
        })

        const retry = Effect.fn("WebhookAdmin.retry")(function* (id: string) {
          const letter = yield* letters.get(id)
          if (Option.isNone(letter)) return yield* gatewayError(new NotFound({ what: "dead_letter", id }))
          return yield* requeue(letter.value)
        }, orUnavailable)

        const retryAll = Effect.fn("WebhookAdmin.retryAll")(function* (url: string | null) {
          let retried = 0
          let left = 0
          let cursor: string | null = null
          do {
            const page: DeadLetterPage = yield* letters.list({ limit: PAGE, cursor })
            for (const letter of page.letters.filter((one) => url === null || one.url === url)) {
              const isQueued = yield* Effect.as(requeue(letter), true).pipe(
                Effect.catchTag("GatewayError", () => Effect.succeed(false))
              )
              if (isQueued) retried++
              else left++
            }
            cursor = page.nextCursor
          } while (cursor !== null && retried + left < MOST_RETRIED)
          return { retried, left }
        }, orUnavailable)

        return WebhookAdmin.of({
          list: orUnavailable(list),
          deliveries: (query) => orUnavailable(deliveries(query)),
          deadLetters: (page) => orUnavailable(letters.list(page)),
          retry: (id) => audited("webhook.retry", id, retry(id)),
          retryAll: (url) => audited("webhook.retry", null, retryAll(url))
        })
      })
    )
}
