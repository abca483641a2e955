/** Failures and states of providers in words. */
import { type ProviderRecord } from "../../api/Providers.ts"
import { type Tone } from "../parts/Badge.tsx"

export interface FailureKind {
  readonly type: string
  readonly status: number | null
}

const kinds: Readonly<Record<string, string>> = {
  rate_limited: "rate limited",
  server_error: "server error",
  unreachable: "unreachable",
  timeout: "timed out",
  stream_cut: "stream broke off",
  malformed: "invalid answer",
  too_large: "answer too large",
  rejected: "unknown model"
}

/** `key refused (401)`, `quota used up (402)`, `server error (503)`, `unreachable`. */
export const failureWords = ({ status, type }: FailureKind): string => {
  const refusal = status === 401 ? "key refused" : status === 403 ? "forbidden" : "quota used up"
  const kind = type === "credentials_refused" ? refusal : (kinds[type] ?? type.replaceAll("_", " "))
  return status === null ? kind : `${kind} (${status})`
}

type Circuit = Pick<ProviderRecord, "state" | "calls" | "failed">

/** `failing`: nothing was answered, although calls go through. */
export const stateOf = ({ calls, failed, state }: Circuit): readonly [word: string, tone: Tone] => {
  if (state === "open") return ["open", "bad"]
  if (state === "half_open") return ["half open", "warn"]
  if (calls > 0 && failed === calls) return ["failing", "bad"]
  return calls === 0 ? ["not called", "calm"] : ["closed", "good"]
}

const ranks: Readonly<Record<string, number>> = { open: 4, failing: 3, "half open": 2, closed: 1, "not called": 0 }

/** The worst have the highest figure; among equal ones those with more failures. */
export const troubleOf = (one: Circuit): number =>
  (ranks[stateOf(one)[0]] ?? 0) + (one.calls === 0 ? 0 : (one.failed / one.calls) * 0.9)
