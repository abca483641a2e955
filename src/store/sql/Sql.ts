/**
 * The database, as one migrated `SqlClient` (and its `PgClient`, for jsonb parameters) over two engines: a Postgres server, or the
 * embedded one in a data directory. Both speak the same protocol, so every store has one SQL text. A layer that is built is migrated;
 * a database that is down, or stays silent, fails the layer and never hangs it. A `bigint` is read as a number; one beyond 2^53, which
 * only a fault can have written, as the nearest number that is exact: one figure never keeps a list from being read.
 */
import { PgClient, PgTypes } from "@effect/sql-pg"
import { Duration, Effect, Layer, type Redacted, Result } from "effect"
import { type Migrator, type SqlClient } from "effect/sql"
import { type DataDirError } from "../embedded/DataDirLock.ts"
import { embeddedStreams } from "../embedded/Embedded.ts"
import { buildIndexes, type Indexes } from "./Indexes.ts"
import { migrate } from "./Migrations.ts"
import { databaseError } from "./SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with libpq's parameters (`sslmode` and others). */
  readonly url: Redacted.Redacted
  /** Upper bound of the pool; 10 unless told. */
  readonly maxConnections?: number
}

export interface EmbeddedOptions {
  /** Made with mode 0700 when absent; the database is in its `db`. */
  readonly dataDir: string
}

type Client = PgClient.PgClient | SqlClient.SqlClient
type BootError = StoreError | Migrator.MigrationError

const CONNECT_TIMEOUT = Duration.seconds(3)
/** The server gives up on a statement before the client does (SqlFault), so that a connection survives a slow statement. */
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

/** Those that came after the schema; so far there is none. */
const indexes: Indexes = {}

/** Beside the work; what fails is built by the next start. */
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

/** Survives the death of the process, not a loss of power: the engine never fsyncs. One process at a time. */
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
          // A replacement of a crashed engine opens the database again, which takes a moment.
          connectTimeout: Duration.seconds(10),
          types: makeTypes()
        }).pipe(Effect.mapError(databaseError))
      )
    )
  )

export const Sql = { layerPostgres, layerEmbedded }
