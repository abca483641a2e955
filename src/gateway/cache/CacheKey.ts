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
import { sentText } from "../../domain/json/SentText.ts"
import { type Turns } from "../../domain/runtime/Turns.ts"
import { TwoGenerations } from "../../domain/runtime/TwoGenerations.ts"

/**
 * The digests of the canonical form of long lists of tools, by a digest of their text. An agent
 * sends the same tools with each request. Only digests are kept.
 */
export class ToolDigests extends TwoGenerations<string> {
  constructor(most = MOST_DIGESTS) {
    super(most)
  }
}
const MOST_DIGESTS = 4_096

/** More tools have a digest of their own in the key. */
const FEW_TOOLS = 3
/** A longer text is not hashed at once. */
const MOST_BYTES = 524_288

/**
 * `tenant`: the id of the key or of its owner; two tenants never share an entry, and none sees by
 * the time of a digest what another one sent. `model` is the full id. A short request is hashed as
 * this is called, a long one in turns: run its effect once.
 */
export const cacheKey = (
  tenant: string,
  model: string,
  request: ChatRequest,
  turns: Turns,
  toolDigests: ToolDigests
): Effect.Effect<string> => {
  const { metadata, temperature, tools } = request
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
  if (!tools || tools.length <= FEW_TOOLS) return digestOf(tenant, members, turns)
  const text = sentText(tools)
  const name =
    text === undefined || text.length > MOST_BYTES
      ? null
      : createHash("sha256").update(`${tenant}\n`).update(text).digest("base64")
  const known = name === null ? undefined : toolDigests.get(name)
  const digest = known === undefined ? digestOf("tools", tools, turns) : Effect.succeed(known)
  return Effect.flatMapEager(digest, (own) => {
    if (name !== null && known === undefined) toolDigests.set(name, own)
    return digestOf(tenant, { ...members, tools: own }, turns)
  })
}

const digestOf = (about: string, value: unknown, turns: Turns): Effect.Effect<string> => {
  const pieces = canonicalPieces(value)
  const first = pieces.next()
  if (first.done === true) return Effect.succeed(hash("sha256", `${about}\n${first.value}`, "hex"))
  const long = createHash("sha256").update(`${about}\n`).update(first.value)
  return Effect.map(feed(pieces, long, turns), () => long.digest("hex"))
}
