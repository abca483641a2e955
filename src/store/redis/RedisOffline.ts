/**
 * Cause of a command that was not sent because Redis is disconnected. Such a command had no effect.
 */
export class RedisOffline extends Error {
  override readonly name = "RedisOffline"

  constructor() {
    super("There is no connection to Redis")
  }
}
