/**
 * All requests, newest first: those that left a generation, and those that were refused. Both kinds
 * of ids contain the time of arrival and then random digits, so that the two lists become one by
 * comparing what follows the prefix.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { isId } from "../../domain/Ids.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { type Refusal } from "../../domain/Refusal.ts"
import { type Among } from "../../store/Among.ts"
import { KeyRepo } from "../../store/keys/KeyRepo.ts"
import { type GenerationSort, GenerationStore } from "../../store/ledger/GenerationStore.ts"
import { Users } from "../../store/people/Users.ts"
import { RefusalStore } from "../../store/refusals/RefusalStore.ts"
import { Catalog } from "../routing/Catalog.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { Names } from "./Names.ts"

export type RequestEnd = "succeeded" | "failed" | "cancelled" | "refused"

export interface RequestQuery {
  readonly limit: number
  /** The id of the last row of the page before. */
  readonly cursor: string | null
  readonly keyId?: string
  readonly ownerId?: string
  readonly fromMs?: number
  readonly toMs?: number
  readonly model?: string
  /** A provider that was called, whether it answered or not. */
  readonly provider?: string
  readonly status?: number
  readonly errorType?: string
  readonly end?: RequestEnd
  readonly requestId?: string
  readonly generationId?: string
  readonly refusalId?: string
  readonly fallbackUsed?: true
  readonly cacheHit?: true
  /** An id, or a part of a model's id, a key's name or a user's address. */
  readonly search?: string
  /** Instead of the newest first. Refusals have neither a cost nor a latency. One page. */
  readonly sort?: GenerationSort
}

export type RequestRow =
  | { readonly _tag: "Generation"; readonly generation: Generation }
  | { readonly _tag: "Refusal"; readonly refusal: Refusal }

export interface RequestPage {
  readonly rows: ReadonlyArray<RequestRow>
  readonly nextCursor: string | null
  /** The names of keys, and the addresses of owners, by their ids. */
  readonly names: ReadonlyMap<string, string>
}

/** The most models, keys and users that a search finds, of each. */
const MOST_FOUND = 20

const idOf = (row: RequestRow): string => (row._tag === "Generation" ? row.generation.id : row.refusal.id)
const digitsOf = (id: string): string => id.slice(id.indexOf("_") + 1)

export class Requests extends Context.Service<
  Requests,
  { readonly list: (query: RequestQuery) => Effect.Effect<RequestPage, GatewayError> }
>()("tollgate/gateway/admin/Requests") {
  /** `retentionDays`: older requests are not shown. Null: they are kept for ever. */
  static readonly layer = ({ retentionDays }: { readonly retentionDays: number | null }) =>
    Layer.effect(
      Requests,
      Effect.gen(function* () {
        const generations = yield* GenerationStore
        const refusals = yield* RefusalStore
        const keys = yield* KeyRepo
        const users = yield* Users
        const catalog = yield* Catalog
        const names = yield* Names

        /** What a search text stands for, among the keys of one owner or of all. */
        const found = Effect.fnUntraced(function* (text: string, ownerId: string | undefined) {
          const [own, people] = yield* Effect.all([
            keys.list({ limit: MOST_FOUND, cursor: null, search: text, ...(ownerId === undefined ? {} : { ownerId }) }),
            ownerId === undefined
              ? users.list({ limit: MOST_FOUND, cursor: null, search: text.toLowerCase() })
              : Effect.succeed({ users: [] })
          ])
          const part = text.toLowerCase()
          const models = catalog.models.map(({ id }) => id).filter((id) => id.toLowerCase().includes(part))
          return {
            models: [...new Set([text, ...models])].slice(0, MOST_FOUND),
            keyIds: own.keys.map(({ id }) => id),
            ownerIds: people.users.map(({ id }) => id),
            requestIds: [text]
          } satisfies Among
        })

        const asked = Effect.fnUntraced(function* ({ search, ...query }: RequestQuery) {
          if (search === undefined) return { query, among: undefined }
          if (isId("gen", search)) return { query: { ...query, generationId: search }, among: undefined }
          if (isId("ref", search)) return { query: { ...query, refusalId: search }, among: undefined }
          if (isId("key", search)) return { query: { ...query, keyId: search }, among: undefined }
          if (isId("usr", search) && query.ownerId === undefined)
            return { query: { ...query, ownerId: search }, among: undefined }
          return { query, among: yield* found(search, query.ownerId) }
        })

        const list = Effect.fn("Requests.list")(function* (given: RequestQuery) {
          const nowMs = yield* Clock.currentTimeMillis
          const { among, query } = yield* asked(given)
          const oldestMs = retentionDays === null ? -Infinity : nowMs - retentionDays * DAY_MS
          const fromMs = Math.max(oldestMs, query.fromMs ?? -Infinity)
          const { cursor, end, errorType, limit, model, ownerId, requestId, status, toMs } = query
          const common = {
            keyId: query.keyId ?? null,
            ...(ownerId === undefined ? {} : { ownerId }),
            ...(fromMs === -Infinity ? {} : { fromMs }),
            ...(toMs === undefined ? {} : { toMs }),
            ...(model === undefined ? {} : { model }),
            ...(status === undefined ? {} : { status }),
            ...(requestId === undefined ? {} : { requestId }),
            ...(among === undefined ? {} : { among })
          }
          const ofGenerations = {
            ...common,
            ...(end === "cancelled" ? { cancelled: true } : end === "succeeded" ? { cancelled: false } : {}),
            ...errorOf(end, errorType),
            ...(query.provider === undefined ? {} : { attempted: query.provider }),
            ...(query.generationId === undefined ? {} : { id: query.generationId }),
            ...(query.fallbackUsed === undefined ? {} : { fallbackUsed: true as const }),
            ...(query.cacheHit === undefined ? {} : { cacheHit: true as const })
          }
          const isOfRefusals = end === "refused" || query.refusalId !== undefined
          if (query.sort !== undefined) {
            const found = isOfRefusals ? [] : yield* generations.top({ ...ofGenerations, limit }, query.sort)
            return {
              rows: found.map((generation): RequestRow => ({ _tag: "Generation", generation })),
              nextCursor: null,
              names: yield* names.of(found)
            } satisfies RequestPage
          }
          const generated = isOfRefusals
            ? []
            : (yield* generations.list({
                ...ofGenerations,
                limit: limit + 1,
                cursor: cursor === null ? null : `gen_${digitsOf(cursor)}`
              })).generations
          const refused = isOfGenerations(query)
            ? []
            : yield* refusals.list({
                ...common,
                limit: limit + 1,
                cursor: cursor === null ? null : `ref_${digitsOf(cursor)}`,
                ...(errorType === undefined ? {} : { type: errorType }),
                ...(query.refusalId === undefined ? {} : { id: query.refusalId })
              })
          const rows = [
            ...generated.map((generation): RequestRow => ({ _tag: "Generation", generation })),
            ...refused.map((refusal): RequestRow => ({ _tag: "Refusal", refusal }))
          ].sort((a, b) => (digitsOf(idOf(a)) < digitsOf(idOf(b)) ? 1 : -1))
          const page = rows.slice(0, limit)
          const last = page.at(-1)
          return {
            rows: page,
            nextCursor: rows.length > limit && last !== undefined ? idOf(last) : null,
            names: yield* names.of(page.map((row) => (row._tag === "Generation" ? row.generation : row.refusal)))
          } satisfies RequestPage
        }, orUnavailable)

        return Requests.of({ list })
      })
    )
}

const errorOf = (end: RequestEnd | undefined, errorType: string | undefined): { readonly error?: string } => {
  if (errorType !== undefined) return { error: errorType }
  return end === "failed" ? { error: "any" } : end === "succeeded" ? { error: "none" } : {}
}

/** Whether the query can only find generations. */
const isOfGenerations = ({ end, ...query }: RequestQuery): boolean =>
  (end !== undefined && end !== "refused") ||
  query.provider !== undefined ||
  query.generationId !== undefined ||
  query.fallbackUsed !== undefined ||
  query.cacheHit !== undefined
