/** The outcome of a request that one provider answered, with changes. */
import { type Outcome } from "../../../src/gateway/billing/Outcome.ts"
import { noAttempts } from "../../../src/gateway/request/AttemptRecord.ts"
import { candidateWith } from "../plans.ts"

const answered: Outcome = {
  record: noAttempts,
  candidate: candidateWith("alpha"),
  usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 0 },
  usageSource: "provider",
  timeToFirstTokenMs: null,
  finishReason: "stop",
  errorType: null,
  cancelled: false,
  fallbackUsed: false
}

export const outcomeWith = (changes: Partial<Outcome> = {}): Outcome => ({ ...answered, ...changes })
