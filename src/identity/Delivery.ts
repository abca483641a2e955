/**
 * How a sign-in code reaches its person: by mail, by SMS, or, where neither is configured and this is no production, into a mailbox that
 * only this machine can read. What is not offered here is not sent.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type Channel } from "../domain/User.ts"
import { type Outbound } from "../providers/transport/Outbound.ts"
import { type SettingsShape } from "../Settings.ts"
import { type CodeMessage, type DeliveryError, type Letter } from "./CodeMessage.ts"
import { makeMail } from "./Mail.ts"
import { makeMailbox } from "./Mailbox.ts"
import { makeSms } from "./Sms.ts"

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
  static readonly layer = (
    settings: Pick<SettingsShape, "auth" | "environment">
  ): Layer.Layer<Delivery, never, Outbound> => Layer.effect(Delivery, make(settings))
}

const make = Effect.fnUntraced(function* ({
  auth,
  environment
}: Pick<SettingsShape, "auth" | "environment">): Effect.fn.Return<Delivery["Service"], never, Outbound | Scope.Scope> {
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
