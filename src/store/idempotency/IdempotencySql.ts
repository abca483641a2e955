/**
 * Idempotency keys in the table `idempotency_keys`: one row per key. Claims, completions and
 * releases are written in groups (sql/WriteBatcher.ts), each by one call of `idempotency_write`
 * (migrations/0009). Entries of one key are written one after the other. Long replies are written
 * and read by statements of their own, so that a group stays small.
 */
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, type Scope } from "effect"
import { type Claim, type ClaimRef, type ClaimResult, IdempotencyStore } from "./IdempotencyStore.ts"
import { guard, mapSqlErrors, outOfTime, STATEMENT_LIMIT } from "../sql/SqlErrors.ts"
import { storableJson } from "../sql/StorableJson.ts"
import { makeWriteBatcher } from "../sql/WriteBatcher.ts"
import { type StoreError } from "../StoreError.ts"

/** The most entries of a group. */
const GROUP_SIZE = 128
/** Longer replies are not in a group: it writes and reads two mebibytes at most. */
const LONG_BYTES = 16_384
/** The most groups written at once. The embedded database runs one statement at a time. */
const POSTGRES_CONCURRENCY = 2

const WRITE = "SELECT * FROM idempotency_write($1::jsonb, $2::bytea[], $3::integer)"

type Entry =
  | { readonly _tag: "Claim"; readonly claim: Claim }
  | { readonly _tag: "Complete"; readonly ref: ClaimRef; readonly reply: Uint8Array; readonly expiresAtMs: number }
  | { readonly _tag: "Release"; readonly ref: ClaimRef }

/** What a claim found. An entry without one is written, or changed nothing. */
interface Found {
  readonly id: string
  readonly fingerprint: string
  readonly is_complete: boolean
  /** Null: there is none, or it is long. */
  readonly reply: Uint8Array | null
}

type Outcome = ClaimResult | { readonly _tag: "LongReply" }

const claimed: Outcome = { _tag: "Claimed" }
const longReply: Outcome = { _tag: "LongReply" }

const outcomeOf = ({ fingerprint, is_complete, reply }: Found): Outcome => {
  if (!is_complete) return { _tag: "Running", fingerprint }
  return reply === null ? longReply : { _tag: "Completed", fingerprint, reply }
}

const idOf = (entry: Entry): string => (entry._tag === "Claim" ? entry.claim.id : entry.ref.id)

/** The parameters of `idempotency_write`. */
const parametersOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<unknown> => {
  const completions: Array<ReadonlyArray<unknown>> = []
  const replies: Array<Uint8Array> = []
  const others: Array<ReadonlyArray<unknown>> = []
  for (const entry of entries) {
    switch (entry._tag) {
      case "Claim": {
        const { expiresAtMs, fingerprint, holder, id, leaseUntilMs, nowMs } = entry.claim
        others.push([id, holder, fingerprint, leaseUntilMs, expiresAtMs, nowMs])
        break
      }
      case "Complete":
        completions.push([entry.ref.id, entry.ref.holder, entry.expiresAtMs])
        replies.push(entry.reply)
        break
      case "Release":
        others.push([entry.ref.id, entry.ref.holder])
    }
  }
  return [storableJson(completions.concat(others)), replies, LONG_BYTES]
}

const make: Effect.Effect<IdempotencyStore["Service"], never, PgClient.PgClient | Scope.Scope> = Effect.gen(
  function* () {
    const sql = yield* PgClient.PgClient

    const written = (entries: ReadonlyArray<Entry>) => sql.unsafe<Found>(WRITE, parametersOf(entries))

    const { write } = yield* makeWriteBatcher<Entry, Outcome>({
      writeGroup: (entries) =>
        Effect.map(mapSqlErrors(written(entries)), (rows) => {
          if (rows.length === 0) return entries.map(() => claimed)
          const found = new Map(rows.map((row) => [row.id, outcomeOf(row)]))
          return entries.map((entry) => found.get(idOf(entry)) ?? claimed)
        }),
      concurrency: sql.config.stream === undefined ? POSTGRES_CONCURRENCY : 1,
      groupSize: GROUP_SIZE,
      limitMs: Duration.toMillis(STATEMENT_LIMIT),
      outOfTime
    })

    // Every request with a key calls these, so they have no spans of their own.
    const claim = (asked: Claim): Effect.Effect<ClaimResult, StoreError> =>
      Effect.flatMap(write(asked.id, { _tag: "Claim", claim: asked }), (outcome) =>
        outcome._tag === "LongReply" ? longReplyOf(asked) : Effect.succeed(outcome)
      )

    /** Claims again if the reply was deleted meanwhile. */
    const longReplyOf = (asked: Claim): Effect.Effect<ClaimResult, StoreError> =>
      Effect.flatMap(
        guard(
          sql<{ readonly fingerprint: string; readonly reply: Uint8Array }>`
            SELECT fingerprint, reply FROM idempotency_keys WHERE id = ${asked.id} AND reply IS NOT NULL`
        ),
        ([row]) => (row === undefined ? claim(asked) : Effect.succeed<ClaimResult>({ _tag: "Completed", ...row }))
      )

    return {
      claim,

      complete: (ref, reply, expiresAtMs) => {
        const entry: Entry = { _tag: "Complete", ref, reply, expiresAtMs }
        return reply.length > LONG_BYTES ? Effect.asVoid(guard(written([entry]))) : Effect.asVoid(write(ref.id, entry))
      },

      release: (ref) => Effect.asVoid(write(ref.id, { _tag: "Release", ref })),

      renew: Effect.fn("IdempotencyStore.renew")((claims, leaseUntilMs) =>
        Effect.asVoid(
          guard(
            // Locks rows in the order of their ids, so that processes that renew leases
            // concurrently never deadlock.
            sql`WITH held AS (
                  SELECT k.id FROM idempotency_keys AS k
                  JOIN unnest(${claims.map(({ id }) => id)}::text[], ${claims.map(({ holder }) => holder)}::text[]) AS one(id, holder)
                    ON one.id = k.id AND one.holder = k.holder
                  WHERE k.reply IS NULL ORDER BY k.id FOR NO KEY UPDATE OF k
                )
                UPDATE idempotency_keys SET lease_until_ms = ${leaseUntilMs}::bigint WHERE id IN (SELECT id FROM held)`
          )
        )
      ),

      deleteExpired: Effect.fn("IdempotencyStore.deleteExpired")(function* (nowMs, limit) {
        const rows = yield* guard(
          sql`DELETE FROM idempotency_keys WHERE id = ANY(ARRAY(
                SELECT id FROM idempotency_keys WHERE expires_at_ms <= ${nowMs}::bigint
                ORDER BY expires_at_ms LIMIT ${limit} FOR UPDATE SKIP LOCKED
              )) RETURNING 1`
        )
        return rows.length
      })
    }
  }
)

export const layer = Layer.effect(IdempotencyStore, make)
