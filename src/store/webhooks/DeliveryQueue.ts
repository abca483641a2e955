/**
 * The queues of webhook deliveries, one per address. A stored delivery survives the process. It is
 * handed to a handler until one succeeds, by any process that shares the database. Two processes
 * handle the same delivery only when the first died or lost the database. The library creates and
 * migrates the table `webhook_queue` itself.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, References, Schedule, Schema } from "effect"
import { PersistedQueue } from "effect/persistence"
import { hash } from "node:crypto"
import { EventType } from "../../domain/Events.ts"
import { databaseError, guard } from "../sql/SqlErrors.ts"
import { type AddressSummary, type DeliveryQuery, type DeliveryRecord, deliveryRecords } from "./DeliveryRecords.ts"
import { type StoreError } from "../StoreError.ts"

/** An event for one address. */
export const Delivery = Schema.Struct({
  /** `evt_…`: the same for every address and every attempt. */
  eventId: Schema.String,
  type: EventType,
  url: Schema.String,
  body: Schema.String,
  createdAtMs: Schema.Finite,
  /** The dead letter that is sent again. It is queued once for each of its failures. */
  retried: Schema.optionalKey(Schema.Struct({ letterId: Schema.String, failedAtMs: Schema.Finite }))
})
export type Delivery = typeof Delivery.Type

/** Deliveries that wait for one address. */
export const MOST_WAITING = 10_000

const TABLE = "webhook_queue"
/**
 * A process that has not renewed its lock for this long counts as dead, and another one takes the
 * delivery.
 */
const LOCK = { lockExpiration: "30 seconds", lockRefreshInterval: "10 seconds" } as const
/** Handlers decide when to give up. */
const MOST_ATTEMPTS = 2_147_483_647
const OFFER_LIMIT = "5 seconds"
const START_RETRIES = 120

const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("5 minutes")]).pipe(Schedule.jittered)

export interface DeliveryQueueOptions {
  readonly mostWaiting?: number
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /**
     * Stores a delivery, once even if it is offered again. False: too many are queued for the
     * address.
     */
    readonly offer: (delivery: Delivery) => Effect.Effect<boolean, StoreError>
    /**
     * Waits for a due delivery to this address and hands it to `handle`. After a failure it is due
     * again after one second, then two, up to five minutes; after an interruption at once.
     * `attempt` is 1 for the first.
     */
    readonly take: <E>(
      url: string,
      handle: (delivery: Delivery, attempt: number) => Effect.Effect<void, E>
    ) => Effect.Effect<void, E | StoreError>
    /** The addresses with queued deliveries. */
    readonly addresses: Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Newest first. At most `limit`. */
    readonly list: (query: DeliveryQuery) => Effect.Effect<ReadonlyArray<DeliveryRecord>, StoreError>
    readonly summaries: Effect.Effect<ReadonlyArray<AddressSummary>, StoreError>
  }
>()("tollgate/store/webhooks/DeliveryQueue") {
  static readonly layer = (options: DeliveryQueueOptions = {}) =>
    Layer.effect(
      DeliveryQueue,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const { mostWaiting = MOST_WAITING } = options
        const found = (url: string) => sql`SELECT 1 FROM webhook_queue
          WHERE queue_name = ${nameOf(url)} AND state = 'pending' OFFSET ${mostWaiting - 1} LIMIT 1`
        const urls = sql<{ readonly url: string }>`SELECT DISTINCT element::json->>'url' AS url
          FROM webhook_queue WHERE state = 'pending'`
        return {
          ...(yield* makeQueue(
            (url) => Effect.map(guard(found(url)), (rows) => rows.length > 0),
            Effect.map(guard(urls), (rows) => rows.map(({ url }) => url))
          )),
          ...deliveryRecords(sql)
        }
      })
    ).pipe(Layer.provide(factory(Layer.effect(PersistedQueue.PersistedQueueStore, tableStore))))

  /** Each build starts empty, and keeps no record of deliveries. */
  static readonly layerMemory = (options: DeliveryQueueOptions = {}) =>
    Layer.effect(
      DeliveryQueue,
      Effect.gen(function* () {
        const { mostWaiting = MOST_WAITING } = options
        const waiting = new Map<string, string>()
        const keyOf = (delivery: Delivery) => `${queueIdOf(delivery)} ${delivery.url}`
        const queue = yield* makeQueue(
          (url) => Effect.sync(() => [...waiting.values()].filter((other) => other === url).length >= mostWaiting),
          Effect.sync(() => [...new Set(waiting.values())])
        )
        return {
          ...queue,
          list: () => Effect.succeed([]),
          summaries: Effect.succeed([]),
          offer: (delivery) =>
            Effect.tap(queue.offer(delivery), (isKept) =>
              Effect.sync(() => void (isKept && waiting.set(keyOf(delivery), delivery.url)))
            ),
          take: (url, handle) =>
            queue.take(url, (delivery, attempt) =>
              Effect.tap(handle(delivery, attempt), () => Effect.sync(() => void waiting.delete(keyOf(delivery))))
            )
        }
      })
    ).pipe(Layer.provide(factory(PersistedQueue.layerStoreMemory)))
}

/** The queue takes a delivery once with each id. */
const queueIdOf = ({ eventId, retried }: Delivery): string =>
  retried === undefined ? eventId : `${retried.letterId} ${retried.failedAtMs}`

/** A name of bounded length, because addresses may be long. */
const nameOf = (url: string): string => hash("sha256", url, "hex")

const makeQueue = (
  isFull: (url: string) => Effect.Effect<boolean, StoreError>,
  addresses: Effect.Effect<ReadonlyArray<string>, StoreError>
) =>
  Effect.map(PersistedQueue.PersistedQueueFactory, (queues): Omit<DeliveryQueue["Service"], "list" | "summaries"> => {
    const queueOf = (url: string) =>
      queues.make({ name: nameOf(url), schema: Delivery, maxAttempts: MOST_ATTEMPTS, retrySchedule: pauses })
    return {
      addresses,
      offer: Effect.fnUntraced(function* (delivery) {
        if (yield* isFull(delivery.url)) return false
        const queue = yield* queueOf(delivery.url)
        yield* queue.offer(delivery, { id: queueIdOf(delivery) }).pipe(
          Effect.catchTag("SchemaError", Effect.die),
          Effect.mapError(databaseError),
          Effect.timeoutOrElse({
            duration: OFFER_LIMIT,
            orElse: () => Effect.fail(databaseError("no answer in time"))
          })
        )
        return true
      }),
      take: (url, handle) =>
        Effect.flatMap(queueOf(url), (queue) =>
          queue.take((delivery, { attempts }) => handle(delivery, attempts))
        ).pipe(
          Effect.mapError((error) =>
            error instanceof PersistedQueue.PersistedQueueError ? databaseError(error) : error
          )
        )
    }
  })

/** While the database is away, the library would log a warning every half second. */
const quietly = Effect.provideService(References.MinimumLogLevel, "Error")

/**
 * A running dump of the database locks the table of the library's migrations, and the start waits
 * for it.
 */
const tableStore = PersistedQueue.makeStoreSql({ tableName: TABLE, ...LOCK }).pipe(
  Effect.sandbox,
  Effect.retry({ schedule: Schedule.spaced("1 second"), times: START_RETRIES }),
  Effect.orDie,
  quietly
)

/** Queues over a store. Delivered and unreadable entries are deleted after some time. */
const factory = <E, R>(store: Layer.Layer<PersistedQueue.PersistedQueueStore, E, R>) =>
  Layer.mergeAll(
    PersistedQueue.layer,
    PersistedQueue.layerCleanup({ timeToLive: Duration.days(1), failedTimeToLive: Duration.days(90) })
  ).pipe(Layer.provide(store))
