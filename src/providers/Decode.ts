/**
 * Whole replies, whatever the dialect: a good status with a JSON object that holds no error and makes sense, or the reason
 * why there is none.
 */
import { Clock, Effect } from "effect"
import { Malformed, type ProviderReason } from "./Provider.ts"
import { refusalInside, refusalOf } from "./Refusal.ts"
import { type WholeReply } from "./Transport.ts"
import { isWire, parseJson, type Wire } from "./Wire.ts"

/** Fails with what a reply means whose status is not 2xx. */
export const refused = ({ headers, status, text }: WholeReply): Effect.Effect<never, ProviderReason> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => Effect.fail(refusalOf(status, headers, text, nowMs)))

/** The body of a good reply: a JSON object without an error inside, that `read` can make sense of. */
export const decodeReply = <A>(
  reply: WholeReply,
  read: (body: Wire) => A | Malformed
): Effect.Effect<A, ProviderReason> => {
  if (reply.status < 200 || reply.status > 299) return refused(reply)
  const body = parseJson(reply.text)
  if (!isWire(body)) return Effect.fail(new Malformed({ detail: "not a JSON object" }))
  const refusal = refusalInside(body)
  if (refusal !== null) return Effect.fail(refusal)
  const answer = read(body)
  return answer instanceof Malformed ? Effect.fail(answer) : Effect.succeed(answer)
}
