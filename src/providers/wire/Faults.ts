/**
 * Errors as they leave a dialect: without our key, without what looks like a secret, and cut to a
 * bounded length.
 */
import {
  CredentialsRefused,
  ProviderError,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled
} from "../Provider.ts"
import { scrubbed } from "./OwnWords.ts"

/** Longest message that is passed on, in UTF-16 code units. */
const MESSAGE_LIMIT = 500
/** The same for what is kept for operators. */
const WORDS_LIMIT = 300
const NOT_FOUND = 404

/**
 * The error as it may leave the dialect: the message of a rejected request has our key removed and
 * is cut to 500 characters. What the provider said about other failures goes beside the reason.
 */
export const faultOf = (provider: string, reason: ProviderReason, key: string | null): ProviderError => {
  const withoutKey = (text: string) => (key === null || key === "" ? text : text.replaceAll(key, "[key]"))
  switch (reason._tag) {
    case "Rejected": {
      const { code, contextLength, own, param, status } = reason
      const message = withoutKey(reason.message)
      return new ProviderError({
        provider,
        reason: new Rejected({
          status,
          message: message.slice(0, MESSAGE_LIMIT),
          param,
          code,
          contextLength,
          ...(own === undefined ? {} : { own: scrubbed(own, key) })
        }),
        // What is wrong with a request is told to the client, and may quote the request.
        ...(status === NOT_FOUND ? { words: wordsOf(message) } : {})
      })
    }
    case "CredentialsRefused":
    case "Throttled":
    case "ServerFault": {
      const { words } = reason
      if (words === undefined) return new ProviderError({ provider, reason })
      return new ProviderError({ provider, reason: wordless(reason), words: wordsOf(withoutKey(words)) })
    }
    default:
      return new ProviderError({ provider, reason })
  }
}

const wordless = (reason: CredentialsRefused | ServerFault | Throttled): ProviderReason => {
  const { status } = reason
  if (reason._tag === "CredentialsRefused") return new CredentialsRefused({ status })
  const { retryAfterMs } = reason
  return reason._tag === "Throttled"
    ? new Throttled({ status, retryAfterMs })
    : new ServerFault({ status, retryAfterMs })
}

/** Tokens by their usual beginnings, and long runs of letters and digits. */
const secrets =
  /\b(?:sk|pk|rk|gsk|xai|tg|tga|ghp|gho|key)[-_][A-Za-z0-9*_-]{6,}|\bAIza[\w-]{10,}|\bAKIA\w{8,}|\beyJ[\w.-]{10,}|\bBearer +\S+|\b[A-Za-z0-9+/]{32,}={0,2}/gi

/** Quotes of a request: names of members and models stay, and texts go. */
const quoted = /'[^']*'|"[^"]*"|`[^`]*`/g
const name = /^.[\w.[\]/:-]{0,64}.$/

/** What a provider said, without quoted texts and what looks like a secret. */
const wordsOf = (text: string): string =>
  text
    .replaceAll(quoted, (quote) => (name.test(quote) ? quote : "…"))
    .replaceAll(secrets, "[secret]")
    .slice(0, WORDS_LIMIT)
