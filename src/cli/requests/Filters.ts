/** The filters of requests as flags, named like the API's. */
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import type { TollgateShape } from "../../client/Client.ts"
import { findKey, findUser } from "../Named.ts"
import { isoFrom, momentFlag, type When } from "../When.ts"
import type { Query } from "./Source.ts"

const word = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(`<${metavar}>`), Flag.withDescription(description), Flag.optional)

const only = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withoutNegation, Flag.withDefault(false))

/** `--key` is the caller's API key, so the filter has another name. */
export const filters = {
  q: word("q", "text", "An id, or a part of a model's id, a key's name or a user's address"),
  keyId: word("key-id", "key", "A key's id or name"),
  user: word("user", "user", "A user's id or address"),
  model: word("model", "id", "A model").pipe(Flag.withAlias("m")),
  provider: word("provider", "slug", "A provider that was called, whether it answered or not"),
  status: Flag.Int("status").pipe(Flag.withMetavar("<code>"), Flag.withDescription("The HTTP status"), Flag.optional),
  type: word("type", "type", "The type of the error, such as budget_exceeded"),
  end: Flag.Literals("end", ["succeeded", "failed", "cancelled", "refused"]).pipe(
    Flag.withDescription("How requests ended"),
    Flag.optional
  ),
  fallback: only("fallback", "Only requests that another provider answered than the first"),
  cacheHit: only("cache-hit", "Only answers from the cache")
}

export const span = {
  from: momentFlag("from", "The first moment: a day, a time, or a distance such as 2h"),
  to: momentFlag("to", "The end, exclusive")
}

export interface Span {
  readonly from: Option.Option<When>
  readonly to: Option.Option<When>
}

export interface Filters {
  readonly q: Option.Option<string>
  readonly keyId: Option.Option<string>
  readonly user: Option.Option<string>
  readonly model: Option.Option<string>
  readonly provider: Option.Option<string>
  readonly status: Option.Option<number>
  readonly type: Option.Option<string>
  readonly end: Option.Option<"succeeded" | "failed" | "cancelled" | "refused">
  readonly fallback: boolean
  readonly cacheHit: boolean
}

/** The filters as typed: names of keys and users are not looked up yet. */
export const typedQuery = ({
  cacheHit,
  end,
  fallback,
  keyId,
  model,
  provider,
  q,
  status,
  type,
  user
}: Filters): Query => ({
  ...(Option.isSome(q) ? { q: q.value } : {}),
  ...(Option.isSome(keyId) ? { key: keyId.value } : {}),
  ...(Option.isSome(user) ? { user: user.value } : {}),
  ...(Option.isSome(model) ? { model: model.value } : {}),
  ...(Option.isSome(provider) ? { provider: provider.value } : {}),
  ...(Option.isSome(status) ? { status: status.value } : {}),
  ...(Option.isSome(type) ? { type: type.value } : {}),
  ...(Option.isSome(end) ? { end: end.value } : {}),
  ...(fallback ? { fallback: "true" } : {}),
  ...(cacheHit ? { cache_hit: "true" } : {})
})

export const spanQuery = Effect.fnUntraced(function* ({ from, to }: Span) {
  return {
    ...(Option.isSome(from) ? { from: yield* isoFrom(from.value, "before") } : {}),
    ...(Option.isSome(to) ? { to: yield* isoFrom(to.value, "before") } : {})
  } satisfies Query
})

/** With the ids of the key and the user that were named. */
export const resolved = Effect.fnUntraced(function* (query: Query, client: TollgateShape) {
  const { key, user } = query
  return {
    ...query,
    ...(key === undefined ? {} : { key: (yield* findKey(client, key)).id }),
    ...(user === undefined ? {} : { user: (yield* findUser(client, user)).id })
  } satisfies Query as Query
})
