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

/** A command that was sent. */
interface Sent {
  /** Checks before it was sent. */
  readonly checks: number
  /** Replies before it was sent. */
  readonly replies: number
  readonly resume: (outcome: Effect.Effect<never, Redis.RedisError>) => void
  isOver: boolean
  next: Sent | null
}

/**
 * The commands without a reply, in the order in which they were sent, which is also that of their
 * replies. A list, because V8 keeps what was in a `Set` that changes all the time.
 */
class Waiting {
  #first: Sent | null = null
  #last: Sent | null = null

  get first(): Sent | null {
    return this.#first
  }

  add(sent: Sent): void {
    if (this.#last === null) this.#first = sent
    else this.#last.next = sent
    this.#last = sent
  }

  /** Removes the commands that are over from the front. */
  sweep(): void {
    while (this.#first !== null && this.#first.isOver) {
      const { next } = this.#first
      this.#first.next = null
      this.#first = next
    }
    if (this.#first === null) this.#last = null
  }
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
    const waiting = new Waiting()
    let checks = 0

    const outOfTime = failed(new Error(`Redis did not answer within ${Duration.format(limit)}`))
    const end = (sent: Sent): void => {
      sent.isOver = true
      waiting.sweep()
    }
    const expire = (sent: Sent): void => {
      if (sent.isOver) return
      end(sent)
      if (heard.replies === sent.replies) onSilence()
      sent.resume(outOfTime)
    }
    const check = (): void => {
      checks++
      for (let sent = waiting.first; sent !== null; sent = sent.next) {
        if (checks - sent.checks <= CHECKS_PER_LIMIT) return
        // Timers run before the socket is read in the same turn of the event loop, so the socket
        // gets one more turn.
        setImmediate(() => setImmediate(expire, sent))
      }
    }
    const interval = Duration.millis(Duration.toMillis(limit) / CHECKS_PER_LIMIT)
    yield* Effect.forkScoped(Effect.repeat(Effect.sync(check), Schedule.spaced(interval)))

    return <A>(args: ReadonlyArray<string>) =>
      Effect.callback<A, Redis.RedisError>((resume) => {
        if (!client.isReady) return resume(failed(new RedisOffline()))
        const sent: Sent = { checks, replies: heard.replies, resume, isOver: false, next: null }
        waiting.add(sent)
        client.sendCommand<A>(args).then(
          (reply) => {
            heard.replies++
            end(sent)
            resume(Effect.succeed(reply))
          },
          (cause: unknown) => {
            end(sent)
            resume(failed(cause))
          }
        )
      })
  })

const failed = (cause: unknown): Effect.Effect<never, Redis.RedisError> => Effect.fail(new Redis.RedisError({ cause }))
