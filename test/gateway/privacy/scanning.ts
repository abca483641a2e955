/** A search without a time limit, and what it found as texts. */
import { Effect } from "effect"
import { allEntities, type OwnPattern } from "../../../src/domain/Privacy.ts"
import { Budget } from "../../../src/gateway/privacy/Budget.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"

/** Its clock stands still. */
export const unlimited = (): Budget => new Budget(() => 0n)

export const everything: ReadonlySet<string> = new Set(allEntities)

/** `type value` for each finding. */
export const findIn = (text: string, patterns: ReadonlyArray<OwnPattern> = []) =>
  Effect.map(makeScanner(patterns), (scan) =>
    (scan(text, new Set([...allEntities, ...patterns.map(({ name }) => name)]), unlimited()) ?? []).map(
      ({ end, start, type }) => `${type} ${text.slice(start, end)}`
    )
  )
