/**
 * Delivers sign-in codes by e-mail or SMS. In development, a channel without a service puts its
 * codes into a mailbox that only this machine can read. Channels that are not offered send nothing.
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
    /** The public address of this gateway; `null`: its listening address. */
    readonly issuer: string | null
    /** Enabled channels; `null`: those configured and, in development, both. */
    readonly channels: ReadonlyArray<Channel> | null
    readonly email: MailOptions | null
    readonly sms: (SmsOptions & { readonly countries: ReadonlyArray<string> }) | null
  }
}

export class Delivery extends Context.Service<
  Delivery,
  {
    readonly channels: ReadonlyArray<Channel>
    /**
     * ISO codes of the countries to which codes are sent; `null`: all, because nothing is really
     * sent.
     */
    readonly smsCountries: ReadonlyArray<string> | null
    readonly send: (message: CodeMessage) => Effect.Effect<void, DeliveryError>
    /** The content of the development mailbox, newest first; `null`: there is no mailbox. */
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
