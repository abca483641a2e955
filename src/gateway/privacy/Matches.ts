/**
 * Where a regular expression matches in a text of any length, a window at a time, so that a search can pause. What is found is what one
 * search through the whole text would find.
 */

/** Characters in which matches of one window begin. */
const WINDOW = 16_384
/** Characters that are seen behind a window. No pattern of ours needs more than this to match at all. */
const AHEAD = 512
/** Characters that are seen before it, for what a pattern looks back at. */
const BEHIND = 32
/** Characters that a pattern may look at behind its match. */
const LOOK_AHEAD = 4

/**
 * Each match of a global pattern, its `index` counted in the whole text; null after each window. The pattern's shortest match has at most
 * `AHEAD` characters; a longer match that reaches the end of what is seen is searched again with more.
 */
export function* matchesIn(text: string, pattern: RegExp): Generator<RegExpExecArray | null, void> {
  // A copy: a global pattern remembers where it was.
  const own = new RegExp(pattern)
  let ahead = AHEAD
  for (let from = 0; from < text.length;) {
    const start = Math.max(0, from - BEHIND)
    const next = Math.min(text.length, from + WINDOW)
    const end = Math.min(text.length, next + ahead)
    const seen = text.slice(start, end)
    own.lastIndex = from - start
    from = next
    for (let found = own.exec(seen); found !== null && start + found.index < next; found = own.exec(seen)) {
      if (end < text.length && own.lastIndex > seen.length - LOOK_AHEAD) {
        from = start + found.index
        ahead *= 2
        break
      }
      found.index += start
      from = Math.max(next, start + own.lastIndex)
      yield found
    }
    yield null
  }
}

/** Characters that are read between two pauses. */
const RUN = 16_384

/** By character code, below 128: whether it is in the alphabet. */
export type Table = ReadonlyArray<boolean>

export const tableOf = (alphabet: RegExp): Table =>
  Array.from({ length: 128 }, (_, code) => alphabet.test(String.fromCharCode(code)))

/** Where the run of characters of an alphabet that starts at `from` ends. */
export function* runEnd(text: string, from: number, table: Table): Generator<void, number> {
  let end = from
  for (;;) {
    const stop = end + RUN
    while (end < stop && table[text.charCodeAt(end)] === true) end++
    if (end < stop) return end
    yield
  }
}
