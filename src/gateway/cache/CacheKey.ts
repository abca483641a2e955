/**
 * The cache key of a request: a hash over the tenant and every member that changes the answer, in
 * any order. Members that change only the form of the reply or its accounting are left out:
 * `stream`, `stream_options`, `user`, and `metadata` except the mock provider's directives. A
 * temperature of 1 is the default and is left out too. Unknown members are part of the key.
 */
import { createHash, hash } from "node:crypto"
import { Effect } from "effect"
import { canonicalPieces, feed } from "../../domain/json/CanonicalJson.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type Turns } from "../../domain/Turns.ts"

/**
 * `tenant`: the id of the key or of its owner; two tenants never share an entry. `model` is the
 * full id. A short request is hashed as this is called, a long one in turns: run its effect once.
 */
export const cacheKey = (tenant: string, model: string, request: ChatRequest, turns: Turns): Effect.Effect<string> => {
  const { metadata, temperature } = request
  const mock = metadata?.["mock"]
  const members = {
    ...request,
    model,
    temperature: temperature === 1 ? undefined : temperature,
    metadata: mock === undefined ? undefined : { mock },
    stream: undefined,
    stream_options: undefined,
    user: undefined
  }
  const pieces = canonicalPieces(members)
  const first = pieces.next()
  if (first.done === true) return Effect.succeed(hash("sha256", `${tenant}\n${first.value}`, "hex"))
  const long = createHash("sha256").update(`${tenant}\n`).update(first.value)
  return Effect.map(feed(pieces, long, turns), () => long.digest("hex"))
}
