/**
 * The database as one migrated `SqlClient` (and its `PgClient`, for jsonb parameters), over two
 * engines: a Postgres server, or the embedded one in a data directory. Both speak the Postgres
 * protocol, so every store has one SQL text.
 *
 * A layer that was built is migrated. A database that is down or silent fails the layer and never
 * hangs it. A `bigint` is read as a number. A value beyond 2^53, which only a fault can have
 * written, is clamped to the nearest safe integer, so that one bad value never makes a list
 * unreadable.
 */
import { PgClient, PgTypes } from "@effect/sql-pg"
import { Duration, Effect, Layer, type Redacted, Result } from "effect"
import { type Migrator, type SqlClient } from "effect/sql"
import { type DataDirError } from "../embedded/DataDirLock.ts"
import { embeddedStreams } from "../embedded/Embedded.ts"
import { buildIndexes, type Indexes } from "./Indexes.ts"
import { migrate } from "./Migrations.ts"
import { databaseError } from "./SqlErrors.ts"
import { generationIndexes } from "../ledger/Indexes.ts"
import { type StoreError } from "../StoreError.ts"

export interface PostgresOptions {
  /**
   * `postgres://user:password@host:port/database`, with libpq's parameters (`sslmode` and others).
   */
  readonly url: Redacted.Redacted
  /** Upper bound of the pool. Default 10. */
  readonly maxConnections?: number
}

export interface EmbeddedOptions {
  /** Created with mode 0700 when absent. The database is in its subdirectory `db`. */
  readonly dataDir: string
}

type Client = PgClient.PgClient | SqlClient.SqlClient
type BootError = StoreError | Migrator.MigrationError

const CONNECT_TIMEOUT = Duration.seconds(3)
/**
 * Shorter than the client's limit (SqlErrors.ts): the server ends a slow statement first, and the
 * connection survives.
 */
const STATEMENT_TIMEOUT_MS = 4_000

const int64AsNumber: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) => {
    const value = Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0))
    return Result.succeed(Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value)))
  }
}

const makeTypes = (): PgTypes.Registry => {
  const types = PgTypes.makeRegistry()
  types.register(PgTypes.OID.int8, int64AsNumber, { arrayOid: PgTypes.OID.int8Array })
  return types
}

/** Indexes added after the schema. */
const indexes: Indexes = generationIndexes

/** Runs in the background. The next start retries what failed. */
const indexed = buildIndexes(indexes).pipe(
  Effect.catchCause((cause) => Effect.logWarning("an index could not be built; the next start tries again", cause)),
  Effect.forkScoped
)

const migrated = <E, R>(client: Layer.Layer<Client, E, R>): Layer.Layer<Client, E | BootError, R> =>
  Layer.effectDiscard(Effect.andThen(migrate, indexed)).pipe(Layer.provideMerge(client))

const layerPostgres = (options: PostgresOptions): Layer.Layer<Client, BootError> =>
  migrated(
    Layer.unwrap(
      Effect.sync(() =>
        PgClient.layer({
          url: options.url,
          applicationName: "tollgate",
          maxConnections: options.maxConnections ?? 10,
          connectTimeout: CONNECT_TIMEOUT,
          keepAlive: Duration.seconds(15),
          startupParameters: { statement_timeout: String(STATEMENT_TIMEOUT_MS) },
          types: makeTypes()
        })
      )
    ).pipe(Layer.catchTag("SqlError", (error) => Layer.effectContext(Effect.fail(databaseError(error)))))
  )

/**
 * Survives the death of the process but not a loss of power, because the engine never fsyncs. Only
 * one process at a time can use it.
 */
const layerEmbedded = (options: EmbeddedOptions): Layer.Layer<Client, BootError | DataDirError> =>
  migrated(
    PgClient.layerFrom(
      Effect.flatMap(embeddedStreams(options.dataDir), (stream) =>
        PgClient.make({
          stream,
          username: "postgres",
          database: "postgres",
          applicationName: "tollgate",
          maxConnections: 1,
          // Restarting a crashed engine opens the database again, which takes a moment.
          connectTimeout: Duration.seconds(10),
          types: makeTypes()
        }).pipe(Effect.mapError(databaseError))
      )
    )
  )

export const Sql = { layerPostgres, layerEmbedded }
