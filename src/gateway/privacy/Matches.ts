/**
 * Finds the matches of a regular expression in a text of any length, one window at a time, so that
 * a search can pause. The result equals that of one search through the whole text.
 */

/** Characters of one window, in which matches begin. */
const WINDOW = 16_384
/** Characters visible after a window. All our patterns can match within fewer. */
const AHEAD = 512
/** Characters visible before a window, for lookbehinds. */
const BEHIND = 32
/** Characters that a pattern may look at after its match. */
const LOOK_AHEAD = 4

/**
 * Yields each match of a global pattern, with its `index` in the whole text, and null after each
 * window. The pattern's shortest match must have at most `AHEAD` characters. A longer match that
 * reaches the end of the visible text is searched again with more text.
 */
export const matchesIn = (text: string, pattern: RegExp): Iterable<RegExpExecArray | null> =>
  text.length <= WINDOW && !occursIn(text, pattern) ? none : windows(text, pattern)

const none: ReadonlyArray<null> = []

const occursIn = (text: string, pattern: RegExp): boolean => {
  const occurs = pattern.test(text)
  // A global pattern stores its position.
  pattern.lastIndex = 0
  return occurs
}

function* windows(text: string, pattern: RegExp): Generator<RegExpExecArray | null, void> {
  // A copy, because a global pattern stores its position, and a search may pause.
  const own = new RegExp(pattern)
  let ahead = AHEAD
  for (let from = 0; from < text.length;) {
    const start = Math.max(0, from - BEHIND)
    const next = Math.min(text.length, from + WINDOW)
    const end = Math.min(text.length, next + ahead)
    const visible = text.slice(start, end)
    own.lastIndex = from - start
    from = next
    for (let found = own.exec(visible); found !== null && start + found.index < next; found = own.exec(visible)) {
      if (end < text.length && own.lastIndex > visible.length - LOOK_AHEAD) {
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

/** Characters read between two pauses. */
const RUN = 16_384

/** For each character code below 128, whether it belongs to the alphabet. */
export type Table = ReadonlyArray<boolean>

export const tableOf = (alphabet: RegExp): Table =>
  Array.from({ length: 128 }, (_, code) => alphabet.test(String.fromCharCode(code)))

/** Returns the end of the run of alphabet characters that starts at `from`. */
export function* runEnd(text: string, from: number, table: Table): Generator<void, number> {
  let end = from
  for (;;) {
    const stop = end + RUN
    while (end < stop && table[text.charCodeAt(end)] === true) end++
    if (end < stop) return end
    yield
  }
}
