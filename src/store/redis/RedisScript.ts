/**
 * Lua scripts on Redis. A call takes one round trip by the script's hash. When Redis does not know
 * the hash (first call, restart, `SCRIPT FLUSH`), a second one sends the text. Calls share no
 * state, so interrupting one does not affect another.
 */
import { Effect } from "effect"
import { type Redis } from "effect/persistence"
import { createHash } from "node:crypto"

/** Runs `lua` with its keys and arguments. The caller vouches for `A`, the type of the reply. */
export const redisScript = <A>({ send }: Pick<Redis.Redis["Service"], "send">, lua: string) => {
  const hash = createHash("sha1").update(lua).digest("hex")
  return (keys: ReadonlyArray<string>, args: ReadonlyArray<string>): Effect.Effect<A, Redis.RedisError> =>
    Effect.catch(send<A>("EVALSHA", hash, String(keys.length), ...keys, ...args), (error) =>
      isUnknownScript(error) ? send<A>("EVAL", lua, String(keys.length), ...keys, ...args) : Effect.fail(error)
    )
}

const isUnknownScript = (error: Redis.RedisError): boolean =>
  error.cause instanceof Error && error.cause.message.startsWith("NOSCRIPT")
