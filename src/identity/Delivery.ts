/**
 * How a sign-in code reaches its person: by mail, by SMS, or, where neither is configured and this is no production, into a mailbox that
 * only this machine can read. What is not offered here is not sent.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type Channel } from "../domain/User.ts"
import { type Outbound } from "../providers/transport/Outbound.ts"
import { type CodeMessage, type DeliveryError, type Letter } from "./CodeMessage.ts"
import { makeMail, type MailOptions } from "./Mail.ts"
import { makeMailbox } from "./Mailbox.ts"
import { makeSms, type SmsOptions } from "./Sms.ts"

export interface DeliveryOptions {
  readonly environment: "development" | "production"
  readonly auth: {
    /** The address at which people reach this gateway; `null`: where it listens. */
    readonly issuer: string | null
    /** `null`: those that are configured and, in development, both. */
    readonly channels: ReadonlyArray<Channel> | null
    readonly email: MailOptions | null
    readonly sms: (SmsOptions & { readonly countries: ReadonlyArray<string> }) | null
  }
}

export class Delivery extends Context.Service<
  Delivery,
  {
    readonly channels: ReadonlyArray<Channel>
    /** ISO codes of the countries whose numbers get codes; `null`: all, for nothing is really sent. */
    readonly smsCountries: ReadonlyArray<string> | null
    readonly send: (message: CodeMessage) => Effect.Effect<void, DeliveryError>
    /** What the development mailbox holds, newest first; `null`: there is none. */
    readonly mailbox: Effect.Effect<ReadonlyArray<Letter>> | null
  }
>()("tollgate/identity/Delivery") {
  static readonly layer = (options: DeliveryOptions): Layer.Layer<Delivery, never, Outbound> =>
    Layer.effect(Delivery, make(options))
}

const make = Effect.fnUntraced(function* ({
  auth,
  environment
}: DeliveryOptions): Effect.fn.Return<Delivery["Service"], never, Outbound | Scope.Scope> {
  const senders = {
    email: auth.email === null ? null : yield* makeMail(auth.email, auth.issuer),
    sms: auth.sms === null ? null : yield* makeSms(auth.sms)
  }
  const mailbox = makeMailbox()
  const offered = (auth.channels ?? ["email", "sms"]).filter(
    (channel) => senders[channel] !== null || environment === "development"
  )
  const usesMailbox = offered.some((channel) => senders[channel] === null)
  return {
    channels: offered,
    smsCountries: auth.sms?.countries ?? null,
    mailbox: usesMailbox ? mailbox.read : null,
    send: Effect.fn("Delivery.send")(function* (message) {
      const sender = senders[message.channel]
      if (sender !== null) return yield* sender(message)
      mailbox.put({ ...message, sentAtMs: yield* Clock.currentTimeMillis })
    })
  }
})
