/** A real SMTP server that stores its mail, parsed, and lets a test wait for the next one. */
import { Effect, Queue } from "effect"
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import PostalMime, { type Email } from "postal-mime"
import { SMTPServer } from "smtp-server"

export interface Delivered {
  readonly mail: Email
  readonly recipients: ReadonlyArray<string>
  /** The user name of the client. */
  readonly user: string | null
}

/**
 * Accepts mail for any address from the user `codes` with the password `postage`, and refuses
 * `refused@…`.
 */
export const startMailServer = Effect.gen(function* () {
  const arrived = yield* Queue.unbounded<Delivered>()
  const server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onAuth: ({ password, username }, _session, callback) =>
      username === "codes" && password === "postage"
        ? callback(null, { user: username })
        : callback(new Error("Invalid username or password")),
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith("refused@") ? new Error("no such mailbox") : null),
    onData: (stream, { envelope, user }, callback) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        void PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          const recipients = envelope.rcptTo.map(({ address }) => address)
          Queue.offerUnsafe(arrived, { mail, recipients, user: user ?? null })
          callback()
        })
      })
    }
  })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server.server, "listening")
    }),
    () => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
  )
  const { port } = server.server.address() as AddressInfo
  return { url: `smtp://codes:postage@127.0.0.1:${port}`, next: Queue.take(arrived) }
})
