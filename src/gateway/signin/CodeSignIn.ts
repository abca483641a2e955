/**
 * Sign-in by a code that is sent to an e-mail address or a phone number. Requesting a code never
 * reveals whether an account exists: the response and its cost are the same in every case, and the
 * code is sent after the response.
 *
 * A code has six digits, ten minutes, five attempts and one use. The error for a code that fails
 * does not say why.
 */
import { Clock, Context, Duration, Effect, FiberSet, Layer, Option, Semaphore } from "effect"
import { randomInt } from "node:crypto"
import {
  gatewayError,
  type GatewayError,
  SignInInputInvalid,
  SignInLimited,
  SignInRefused,
  UnknownSignInMethod
} from "../../domain/Errors.ts"
import { Ids, isId } from "../../domain/Ids.ts"
import { type Channel } from "../../domain/User.ts"
import { type CodeMessage } from "../../identity/CodeMessage.ts"
import { Delivery } from "../../identity/Delivery.ts"
import { Challenges } from "../../store/people/Challenges.ts"
import { AccountLinking } from "./AccountLinking.ts"
import { AuditLog } from "../telemetry/Audit.ts"
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
/** Limit per destination over all networks, in multiples of the limit of one network. */
const ALL_NETWORKS_FACTOR = 10
/** Most codes being sent at the same time. */
const MAX_SENDING = 16
/** Longest wait for codes that are still being sent when the gateway stops. */
const DRAIN_TIMEOUT = Duration.seconds(10)
/** Compared when there is no challenge, so that the time of the response does not reveal it. */
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
    /**
     * Sends a code. `destination` is the user's raw input, and `address` the caller's network
     * address.
     */
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
        const { auditRefusedCredential } = yield* AuditLog
        const challenges = yield* Challenges
        const delivery = yield* Delivery
        const accountLinking = yield* AccountLinking
        const rates = yield* SignInLimits
        const sessions = yield* SessionTokens
        const hmacKey = yield* HmacKey
        const ids = yield* Ids

        const senders = yield* Semaphore.make(MAX_SENDING)
        const sending = yield* FiberSet.make()
        yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(sending), DRAIN_TIMEOUT)))
        const sendInBackground = (message: CodeMessage) =>
          FiberSet.run(
            sending,
            Semaphore.withPermit(
              senders,
              Effect.catch(delivery.send(message), (error) => Effect.logError(error.message))
            )
          )

        const readDestination = Effect.fnUntraced(function* (channel: Channel, typed: string | undefined) {
          if (!delivery.channels.includes(channel)) {
            return yield* gatewayError(
              new UnknownSignInMethod({ param: "channel", sent: channel, known: delivery.channels })
            )
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
         * Checks the caller's own limits before shared ones, so that one caller cannot exhaust the
         * global limit. Requests of other networks hardly affect a destination: when all networks
         * together pass the destination's limit, further codes have one attempt each, and only ten
         * times the limit refuses them.
         */
        const limit = Effect.fnUntraced(function* (destination: string, address: string, nowMs: number) {
          yield* rates.byAddress("start", address, limits.perAddressMinute)
          yield* rates.byDestination(destination, address, 60 / RESEND_AFTER_SECONDS)
          const networkHash = yield* hmacKey.hash("network", widestNetworkOf(address))
          const sent = yield* orUnavailable(challenges.countSince(destination, networkHash, nowMs - HOUR_MS))
          const hourly = limits.perDestinationHour
          if (sent.ofNetwork >= hourly || sent.all >= hourly * ALL_NETWORKS_FACTOR) {
            return yield* gatewayError(new SignInLimited({ retryAfterMs: HOUR_MS / hourly }))
          }
          yield* rates.global("start", address, limits.globalMinute)
          return { networkHash, attemptsTaken: sent.all >= hourly ? ATTEMPTS - 1 : 0 }
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
          yield* sendInBackground({ channel, destination, code, expiresInMinutes: LIFETIME_SECONDS / 60 })
          return {
            challengeId: id,
            channel,
            expiresInSeconds: LIFETIME_SECONDS,
            resendAfterSeconds: RESEND_AFTER_SECONDS,
            maskedDestination: masked(channel, destination)
          } satisfies Started
        })

        const checkCode = Effect.fnUntraced(function* (channel: Channel, challengeId: string, code: string) {
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
            return yield* gatewayError(
              new UnknownSignInMethod({ param: "channel", sent: channel, known: delivery.channels })
            )
          }
          yield* rates.byAddress("verify", address, VERIFIES_PER_ADDRESS_MINUTE)
          const destination = yield* auditRefusedCredential("code")(checkCode(channel, challengeId, code.trim()))
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
