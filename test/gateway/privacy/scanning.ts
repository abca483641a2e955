/** A search without a time limit, and its matches as text. */
import { Effect } from "effect"
import { allEntities, type OwnPattern } from "../../../src/domain/Privacy.ts"
import { runAtOnce, TimeBudget } from "../../../src/gateway/privacy/TimeBudget.ts"
import { mask, type Masked } from "../../../src/gateway/privacy/Masking.ts"
import { makeScanner, type Scanner } from "../../../src/gateway/privacy/Scanner.ts"
import { type Span } from "../../../src/gateway/privacy/Span.ts"

/** A budget whose clock stands still. */
export const unlimited = (): TimeBudget => new TimeBudget(() => 0n)

export const everything: ReadonlySet<string> = new Set(allEntities)

/** Searches without a pause; null: the time was over. */
export const scanned = (
  scan: Scanner,
  text: string,
  wanted: ReadonlySet<string> = everything,
  budget: TimeBudget = unlimited()
): ReadonlyArray<Span> | null => runAtOnce(scan(text, wanted, budget), budget)

/** Masks without a pause; null: the time was over. */
export const maskAtOnce = <A extends Readonly<Record<string, unknown>>>(
  scan: Scanner,
  target: A,
  wanted: ReadonlySet<string> = everything,
  budget: TimeBudget = unlimited()
): Masked<A> | null => runAtOnce(mask(target, scan, wanted, budget), budget)

/** `type value` for each finding. */
export const findIn = (text: string, patterns: ReadonlyArray<OwnPattern> = []) =>
  Effect.map(makeScanner(patterns), (scan) =>
    (scanned(scan, text, new Set([...allEntities, ...patterns.map(({ name }) => name)])) ?? []).map(
      ({ end, start, type }) => `${type} ${text.slice(start, end)}`
    )
  )
