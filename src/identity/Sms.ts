/**
 * Sends codes by SMS through a service with Twilio's Messages resource. Only the status of its
 * answers is read.
 */
import { Effect, Redacted } from "effect"
import { Outbound } from "../providers/transport/Outbound.ts"
import { type CodeMessage, DeliveryError } from "./CodeMessage.ts"

const TIMEOUT_MS = 10_000

export interface SmsOptions {
  readonly baseUrl: string
  readonly account: string
  readonly token: Redacted.Redacted
  /** The sender's number or name. */
  readonly from: string
}

export const makeSms = Effect.fnUntraced(function* ({ account, baseUrl, from, token }: SmsOptions) {
  const outbound = yield* Outbound
  const url = new URL(`${baseUrl}/2010-04-01/Accounts/${encodeURIComponent(account)}/Messages.json`)
  const credentials = Buffer.from(`${account}:${Redacted.value(token)}`).toString("base64")
  const headers = {
    authorization: `Basic ${credentials}`,
    "content-type": "application/x-www-form-urlencoded",
    accept: "application/json"
  }
  const fail = (cause: string) => new DeliveryError({ channel: "sms", cause })

  return Effect.fnUntraced(function* ({ code, destination, expiresInMinutes }: CodeMessage) {
    const text = `${code} is your sign-in code. It is valid for ${expiresInMinutes} minutes. Do not share it.`
    const body = new URLSearchParams({ To: destination, From: from, Body: text }).toString()
    const reply = yield* outbound
      .call({ method: "POST", url, headers, body, timeoutMs: TIMEOUT_MS })
      .pipe(Effect.mapError(({ _tag }) => fail(_tag)))
    if (reply.status >= 300) return yield* fail(`status ${reply.status}`)
  })
})
