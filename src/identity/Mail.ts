/**
 * Sends codes by e-mail through an SMTP server. Connections are pooled and closed with the scope.
 * Errors do not contain the recipient's address.
 */
import { Effect, Redacted } from "effect"
import { type CodeMessage, DeliveryError } from "./CodeMessage.ts"

const CONNECT_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 30_000

export interface MailOptions {
  readonly smtpUrl: Redacted.Redacted
  /** The sender's address. */
  readonly from: string
  /** Sends nothing to a server without STARTTLS. */
  readonly isTlsNeeded?: boolean
}

/** `issuer`: the site that the mail names as the place to sign in. */
export const makeMail = Effect.fnUntraced(function* (
  { from, isTlsNeeded = false, smtpUrl }: MailOptions,
  issuer: string | null
) {
  // The library is loaded with the first mail.
  const transport = yield* Effect.cached(
    Effect.map(
      Effect.promise(() => import("nodemailer")),
      ({ createTransport }) =>
        createTransport({
          url: Redacted.value(smtpUrl),
          pool: true,
          // For smtp://: the server must offer STARTTLS.
          requireTLS: isTlsNeeded,
          maxConnections: 4,
          connectionTimeout: CONNECT_TIMEOUT_MS,
          greetingTimeout: CONNECT_TIMEOUT_MS,
          socketTimeout: IDLE_TIMEOUT_MS
        })
    )
  )
  let used = false
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => (used ? Effect.map(transport, (opened) => opened.close()) : Effect.void))
  )
  const place = issuer === null ? "tollgate" : new URL(issuer).host

  return Effect.fnUntraced(function* ({ code, destination, expiresInMinutes }: CodeMessage) {
    used = true
    const opened = yield* transport
    yield* Effect.tryPromise({
      try: () =>
        opened.sendMail({
          from,
          // An object, because a string would be parsed as a list of addresses.
          to: { name: "", address: destination },
          subject: `${code} is your code for ${place}`,
          text:
            `${code}\n\nEnter this code to sign in to ${place}. It is valid for ${expiresInMinutes} minutes and works once.\n` +
            "If you did not request it, you can ignore this message: the code works only if it is entered.\n",
          headers: { "auto-submitted": "auto-generated" }
        }),
      catch: (cause) => new DeliveryError({ channel: "email", cause: codeOf(cause) })
    })
  })
})

/**
 * The error code of Node or of the server (`ECONNREFUSED`, `EENVELOPE 550`). Messages may contain
 * addresses.
 */
const codeOf = (cause: unknown): string => {
  if (typeof cause !== "object" || cause === null) return "unknown"
  const code = "code" in cause ? String(cause.code) : "unknown"
  return "responseCode" in cause && typeof cause.responseCode === "number" ? `${code} ${cause.responseCode}` : code
}
