/** Repeatable randomness: the same seed gives the same sequence on every machine. */

export interface Dice {
  /** An integer from `low` to `high`, inclusive. */
  readonly int: (low: number, high: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
  /** `length` characters of an alphabet. */
  readonly chars: (alphabet: string, length: number) => string
  /**
   * `#` is a digit, `%` a digit from 2, `@` an upper-case letter, `x` a hex digit. Other characters
   * stand for themselves.
   */
  readonly form: (form: string) => string
  readonly chance: (probability: number) => boolean
}

export const DIGITS = "0123456789"
export const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
export const BASE62 = `${DIGITS}${UPPER}${UPPER.toLowerCase()}`
export const HEX = "0123456789abcdef"
export const BASE64URL = `${BASE62}_-`

/** Mulberry32. */
export const makeDice = (seed: number): Dice => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const pick = <A>(from: ReadonlyArray<A>): A => {
    const picked = from[int(0, from.length - 1)]
    if (picked === undefined) throw new Error("nothing to pick from")
    return picked
  }
  const chars = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet.charAt(int(0, alphabet.length - 1))).join("")
  const kinds: Readonly<Record<string, string>> = { "#": DIGITS, "%": "23456789", "@": UPPER, x: HEX }
  return {
    int,
    pick,
    chars,
    form: (form) => form.replaceAll(/[#%@x]/g, (kind) => chars(kinds[kind] ?? kind, 1)),
    chance: (probability) => next() < probability
  }
}
