/**
 * Lua scripts on Redis: one round trip by the script's hash, and one more that carries its text when Redis does not know it (the
 * first call ever, after a restart, after `SCRIPT FLUSH`). Nothing is shared between calls, so that one which is interrupted
 * takes no other with it.
 */
import { Effect } from "effect"
import { type Redis } from "effect/persistence"
import { createHash } from "node:crypto"

/** Runs `lua` with its keys and arguments; `A` is what the script answers, which the caller vouches for. */
export const redisScript = <A>(redis: Redis.Redis["Service"], lua: string) => {
  const hash = createHash("sha1").update(lua).digest("hex")
  return (keys: ReadonlyArray<string>, args: ReadonlyArray<string>): Effect.Effect<A, Redis.RedisError> =>
    redis
      .send<A>("EVALSHA", hash, String(keys.length), ...keys, ...args)
      .pipe(Effect.catchIf(isUnknownScript, () => redis.send<A>("EVAL", lua, String(keys.length), ...keys, ...args)))
}

const isUnknownScript = (error: Redis.RedisError): boolean =>
  error.cause instanceof Error && error.cause.message.startsWith("NOSCRIPT")
