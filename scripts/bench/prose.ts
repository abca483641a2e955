/** Deterministic texts of any length: prose, and texts that are slow for naive readers. */

const words = (
  "the of and a to in is you that it he was for on are as with his they I at be this have from or one had by word but not what all " +
  "were we when your can said there use an each which she do how their if will up other about out many then them these so some her " +
  "would make like him into time has look two more write go see number no way could people my than first water been call who oil its " +
  "now find long down day did get come made may part gatekeeper toll-road ledger, settlement. reconcile (receipt) traveller's £4 1829 " +
  "municipality überfahrt straße naïve façade 東京 Zürich function return const await null 0.15 12:30 quarter; cartwright, 27 pence"
).split(" ")

/** Words and punctuation without a pattern, `characters` UTF-16 units long. */
export const prose = (characters: number, seed = 1): string => {
  const pieces: Array<string> = []
  let length = 0
  let state = seed
  while (length < characters) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const word = words[state % words.length] ?? ""
    const piece = state >>> 28 === 0 ? `${word}.\n` : `${word} `
    pieces.push(piece)
    length += piece.length
  }
  return pieces.join("").slice(0, characters)
}

/** Texts that are slow for readers with look-behind or long look-ahead. */
export const awkward: Readonly<Record<string, (characters: number) => string>> = {
  "one letter": (characters) => "a".repeat(characters),
  blanks: (characters) => " ".repeat(characters),
  digits: (characters) => "4111 1111 1111 1112 ".repeat(Math.ceil(characters / 20)).slice(0, characters),
  "at signs": (characters) => "a@b.".repeat(Math.ceil(characters / 4)).slice(0, characters),
  quotes: (characters) => `\\"{[`.repeat(Math.ceil(characters / 4)).slice(0, characters),
  ideographs: (characters) => "東京都渋谷区".repeat(Math.ceil(characters / 6)).slice(0, characters)
}
