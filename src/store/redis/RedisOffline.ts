/** Why a command was not sent: there is no connection to Redis at the moment. It cannot have had an effect. */
export class RedisOffline extends Error {
  override readonly name = "RedisOffline"

  constructor() {
    super("There is no connection to Redis")
  }
}
