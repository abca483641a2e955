/**
 * Commands on one connection to Redis, all with the same time limit. A command waits once: for its
 * reply. One fiber checks the limit of all commands, which is cheaper than a timer for each. The
 * client writes the commands of one turn of the event loop together.
 *
 * The limit is counted in checks, so it excludes pauses of this process. It is noticed up to a
 * quarter late.
 */
import { Duration, Effect, Schedule, type Scope } from "effect"
import { Redis } from "effect/persistence"
import { RedisOffline } from "./RedisOffline.ts"

/** The part of the client that sends commands. */
export interface RedisClient {
  readonly isReady: boolean
  readonly sendCommand: <A>(args: ReadonlyArray<string>) => Promise<A>
}

/** How many replies a connection has sent. */
export interface Heard {
  replies: number
}

export type SendCommand = <A>(args: ReadonlyArray<string>) => Effect.Effect<A, Redis.RedisError>

const CHECKS_PER_LIMIT = 4

/** A command without a reply. */
interface Sent {
  /** Checks before it was sent. */
  readonly checks: number
  /** Replies before it was sent. */
  readonly replies: number
  readonly resume: (outcome: Effect.Effect<never, Redis.RedisError>) => void
}

/** `onSilence`: called when a command is out of time and Redis has sent no reply at all since. */
export const makeRedisCommands = (options: {
  readonly client: RedisClient
  readonly limit: Duration.Duration
  readonly heard: Heard
  readonly onSilence: () => void
}): Effect.Effect<SendCommand, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, heard, limit, onSilence } = options
    /** In the order in which they were sent. */
    const waiting = new Set<Sent>()
    let checks = 0

    const outOfTime = failed(new Error(`Redis did not answer within ${Duration.format(limit)}`))
    const end = (sent: Sent): void => {
      if (!waiting.delete(sent)) return
      if (heard.replies === sent.replies) onSilence()
      sent.resume(outOfTime)
    }
    const check = (): void => {
      checks++
      for (const sent of waiting) {
        if (checks - sent.checks <= CHECKS_PER_LIMIT) return
        // Timers run before the socket is read in the same turn of the event loop, so the socket
        // gets one more turn.
        setImmediate(() => setImmediate(end, sent))
      }
    }
    const interval = Duration.millis(Duration.toMillis(limit) / CHECKS_PER_LIMIT)
    yield* Effect.forkScoped(Effect.repeat(Effect.sync(check), Schedule.spaced(interval)))

    return <A>(args: ReadonlyArray<string>) =>
      Effect.callback<A, Redis.RedisError>((resume) => {
        if (!client.isReady) return resume(failed(new RedisOffline()))
        const sent: Sent = { checks, replies: heard.replies, resume }
        waiting.add(sent)
        client.sendCommand<A>(args).then(
          (reply) => {
            heard.replies++
            waiting.delete(sent)
            resume(Effect.succeed(reply))
          },
          (cause: unknown) => {
            waiting.delete(sent)
            resume(failed(cause))
          }
        )
      })
  })

const failed = (cause: unknown): Effect.Effect<never, Redis.RedisError> => Effect.fail(new Redis.RedisError({ cause }))
