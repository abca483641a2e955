/** Refusals of a request in its own form, which keep the vendor's words. */
import { type Refusals } from "./Decode.ts"
import { errorInBody, reasonOfStatus } from "./ErrorMapping.ts"
import { withOwnWords } from "./OwnWords.ts"

export const nativeRefusals: Refusals = {
  of: (status, headers, text, nowMs) => withOwnWords(reasonOfStatus(status, headers, text, nowMs), text),
  inside: (body) => {
    const reason = errorInBody(body)
    return reason === null ? null : withOwnWords(reason, body)
  }
}
