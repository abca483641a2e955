/**
 * Codes and flows in memory, for tests and trials. Same guarantees as the tables, until the process
 * ends.
 */
import { Effect, Option, Layer } from "effect"
import { Challenges, type CodeChallenge, type OAuthFlow } from "./Challenges.ts"

interface Code extends CodeChallenge {
  attempts: number
  consumed: boolean
}

export const makeChallengesMemory = (): Challenges["Service"] => {
  const codes = new Map<string, Code>()
  const flows = new Map<string, OAuthFlow>()

  return {
    open: (challenge) =>
      Effect.sync(
        () => void codes.set(challenge.id, { ...challenge, attempts: challenge.attemptsTaken, consumed: false })
      ),

    countSince: (destination, networkHash, sinceMs) =>
      Effect.sync(() => {
        const all = [...codes.values()].filter(
          (code) => code.destination === destination && code.createdAtMs >= sinceMs
        )
        return { all: all.length, ofNetwork: all.filter((code) => code.networkHash === networkHash).length }
      }),

    attempt: ({ channel, id, maxAttempts, nowMs }) =>
      Effect.sync(() => {
        const code = codes.get(id)
        if (code?.channel !== channel || code.consumed || code.expiresAtMs <= nowMs || code.attempts >= maxAttempts) {
          return Option.none()
        }
        code.attempts++
        return Option.some({ destination: code.destination, codeHash: code.codeHash })
      }),

    consume: (id, nowMs) =>
      Effect.sync(() => {
        const code = codes.get(id)
        if (code === undefined || code.consumed || code.expiresAtMs <= nowMs) return false
        code.consumed = true
        return true
      }),

    openFlow: (flow) => Effect.sync(() => void flows.set(flow.stateHash, flow)),

    takeFlow: (stateHash, nowMs) =>
      Effect.sync(() => {
        const flow = flows.get(stateHash)
        flows.delete(stateHash)
        return flow === undefined || flow.expiresAtMs <= nowMs ? Option.none() : Option.some(flow)
      }),

    deleteBefore: (beforeMs) =>
      Effect.sync(() => {
        for (const code of codes.values()) if (code.createdAtMs < beforeMs) codes.delete(code.id)
        for (const flow of flows.values()) if (flow.expiresAtMs < beforeMs) flows.delete(flow.stateHash)
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(Challenges, makeChallengesMemory)
