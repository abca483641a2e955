/**
 * Signing in with a code that was sent. Asking for one never looks at who has an account: the answer, and what it costs to make it, are
 * the same for everybody, and the code goes out after it. A code has six digits, ten minutes, five attempts and one use; what is wrong
 * with a code that does not work is not said.
 */
import { Clock, Context, Duration, Effect, FiberSet, Layer, Option, Semaphore } from "effect"
import { randomInt } from "node:crypto"
import {
  gatewayError,
  type GatewayError,
  SignInInputInvalid,
  SignInLimited,
  SignInRefused,
  WayUnknown
} from "../../domain/Errors.ts"
import { Ids, isId } from "../../domain/Ids.ts"
import { type Channel } from "../../domain/User.ts"
import { type CodeMessage } from "../../identity/CodeMessage.ts"
import { Delivery } from "../../identity/Delivery.ts"
import { Challenges } from "../../store/people/Challenges.ts"
import { AccountLinking } from "./AccountLinking.ts"
import { refusedCredential } from "../telemetry/Audit.ts"
import { countryOf, destinationOf, masked } from "./Destination.ts"
import { sameHash } from "../keys/KeySecret.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"
import { SessionTokens, type TokenPair } from "./SessionTokens.ts"
import { SignInLimits, widestNetworkOf } from "./SignInLimits.ts"

export interface Started {
  readonly challengeId: string
  readonly channel: Channel
  readonly expiresInSeconds: number
  readonly resendAfterSeconds: number
  readonly maskedDestination: string
}

const LIFETIME_SECONDS = 600
const RESEND_AFTER_SECONDS = 60
const ATTEMPTS = 5
const VERIFIES_PER_ADDRESS_MINUTE = 30
const HOUR_MS = 3_600_000
/** How many networks' measures of codes there are for one destination in all. */
const OTHER_NETWORKS = 10
/** Codes that are on their way at the same time. */
const SENDERS = 16
/** How long a stop waits for codes that are on their way. */
const LAST_POST = Duration.seconds(10)
/** Compared with where there is nothing to compare with, so that this takes as long. */
const NO_HASH = "0".repeat(64)

export interface CodeSignInOptions {
  readonly limits: {
    /** Codes sent to one destination. */
    readonly perDestinationHour: number
    /** Codes requested from one network address. */
    readonly perAddressMinute: number
    /** Codes sent in all. */
    readonly globalMinute: number
  }
}

export class CodeSignIn extends Context.Service<
  CodeSignIn,
  {
    /** Sends a code. `destination` as it was typed, `address` the network address of who asks. */
    readonly start: (options: {
      readonly channel: Channel
      readonly destination: string | undefined
      readonly address: string
    }) => Effect.Effect<Started, GatewayError>
    readonly verify: (options: {
      readonly channel: Channel
      readonly challengeId: string
      readonly code: string
      readonly address: string
      readonly userAgent: string | null
    }) => Effect.Effect<TokenPair, GatewayError>
  }
>()("tollgate/gateway/signin/CodeSignIn") {
  static readonly layer = ({ limits }: CodeSignInOptions) =>
    Layer.effect(
      CodeSignIn,
      Effect.gen(function* () {
        const challenges = yield* Challenges
        const delivery = yield* Delivery
        const accountLinking = yield* AccountLinking
        const rates = yield* SignInLimits
        const sessions = yield* SessionTokens
        const hmacKey = yield* HmacKey
        const ids = yield* Ids

        const senders = yield* Semaphore.make(SENDERS)
        const underWay = yield* FiberSet.make()
        yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(underWay), LAST_POST)))
        const post = (message: CodeMessage) =>
          FiberSet.run(
            underWay,
            Semaphore.withPermit(
              senders,
              Effect.catch(delivery.send(message), (error) => Effect.logError(error.message))
            )
          )

        const readDestination = Effect.fnUntraced(function* (channel: Channel, typed: string | undefined) {
          if (!delivery.channels.includes(channel)) {
            return yield* gatewayError(new WayUnknown({ param: "channel", sent: channel, known: delivery.channels }))
          }
          const param = channel === "email" ? "email" : "phone"
          if (typed === undefined) return yield* gatewayError(new SignInInputInvalid({ param, fault: "missing" }))
          const destination = destinationOf(channel, typed)
          if (Option.isNone(destination)) {
            return yield* gatewayError(new SignInInputInvalid({ param, fault: "malformed" }))
          }
          if (channel === "sms" && delivery.smsCountries !== null) {
            const country = yield* countryOf(destination.value)
            if (Option.isNone(country) || !delivery.smsCountries.includes(country.value)) {
              return yield* gatewayError(new SignInInputInvalid({ param, fault: "country" }))
            }
          }
          return destination.value
        })

        /**
         * Cheapest to exhaust comes last: who is refused for himself takes nothing from the others. What other networks ask for a destination
         * hardly counts: beyond a network's own measure their codes have one attempt each, and only ten times the measure is too much.
         */
        const limit = Effect.fnUntraced(function* (destination: string, address: string, nowMs: number) {
          yield* rates.byAddress("start", address, limits.perAddressMinute)
          yield* rates.byDestination(destination, address, 60 / RESEND_AFTER_SECONDS)
          const networkHash = yield* hmacKey.hash("network", widestNetworkOf(address))
          const sent = yield* orUnavailable(challenges.countSince(destination, networkHash, nowMs - HOUR_MS))
          const measure = limits.perDestinationHour
          if (sent.ofNetwork >= measure || sent.all >= measure * OTHER_NETWORKS) {
            return yield* gatewayError(new SignInLimited({ retryAfterMs: HOUR_MS / measure }))
          }
          yield* rates.global("start", address, limits.globalMinute)
          return { networkHash, attemptsTaken: sent.all >= measure ? ATTEMPTS - 1 : 0 }
        })

        const start = Effect.fn("CodeSignIn.start")(function* ({
          address,
          channel,
          destination: typed
        }: {
          readonly channel: Channel
          readonly destination: string | undefined
          readonly address: string
        }) {
          const destination = yield* readDestination(channel, typed)
          const nowMs = yield* Clock.currentTimeMillis
          const allowed = yield* limit(destination, address, nowMs)
          const code = String(randomInt(1_000_000)).padStart(6, "0")
          const id = ids.next("chl", nowMs)
          const challenge = {
            ...allowed,
            id,
            channel,
            destination,
            codeHash: yield* hmacKey.hash("code", `${id} ${code}`),
            createdAtMs: nowMs,
            expiresAtMs: nowMs + LIFETIME_SECONDS * 1000
          }
          yield* orUnavailable(challenges.open(challenge))
          yield* post({ channel, destination, code, expiresInMinutes: LIFETIME_SECONDS / 60 })
          return {
            challengeId: id,
            channel,
            expiresInSeconds: LIFETIME_SECONDS,
            resendAfterSeconds: RESEND_AFTER_SECONDS,
            maskedDestination: masked(channel, destination)
          } satisfies Started
        })

        const prove = Effect.fnUntraced(function* (channel: Channel, challengeId: string, code: string) {
          const nowMs = yield* Clock.currentTimeMillis
          const attempt = isId("chl", challengeId)
            ? yield* orUnavailable(challenges.attempt({ id: challengeId, channel, maxAttempts: ATTEMPTS, nowMs }))
            : Option.none()
          const hash = yield* hmacKey.hash("code", `${challengeId} ${code}`)
          const expected = Option.match(attempt, { onNone: () => NO_HASH, onSome: ({ codeHash }) => codeHash })
          const same = sameHash(expected, hash)
          if (Option.isNone(attempt) || !same) return yield* wrongCode
          const first = yield* orUnavailable(challenges.consume(challengeId, nowMs))
          return first ? attempt.value.destination : yield* wrongCode
        })

        const verify = Effect.fn("CodeSignIn.verify")(function* ({
          address,
          challengeId,
          channel,
          code,
          userAgent
        }: {
          readonly channel: Channel
          readonly challengeId: string
          readonly code: string
          readonly address: string
          readonly userAgent: string | null
        }) {
          if (!delivery.channels.includes(channel)) {
            return yield* gatewayError(new WayUnknown({ param: "channel", sent: channel, known: delivery.channels }))
          }
          yield* rates.byAddress("verify", address, VERIFIES_PER_ADDRESS_MINUTE)
          const destination = yield* refusedCredential("code")(prove(channel, challengeId, code.trim()))
          const user = yield* accountLinking.linkOrCreateUser({
            provider: channel,
            subject: destination,
            email: channel === "email" ? destination : null,
            phone: channel === "sms" ? destination : null
          })
          return yield* sessions.begin({ user, signedInBy: channel, userAgent })
        })

        return CodeSignIn.of({ start, verify })
      })
    )
}

const wrongCode = Effect.fail(gatewayError(new SignInRefused({ what: "code" })))
