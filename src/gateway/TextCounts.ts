/**
 * Counts of tokens that are remembered. A conversation comes whole with each of its turns, and an application says the same instructions each
 * time; counting is the most that a long prompt costs, a digest a hundredth of it. No text is kept, and an owner's counts answer
 * nobody else: how fast a count is there would tell that a text was seen before.
 */
import { hash } from "node:crypto"
import { type CountText, countText } from "./Tokens.ts"

/** In characters; what is shorter is counted as fast as it is looked up. */
const WORTHWHILE_CHARACTERS = 32
/** Texts from here on are remembered apart: short ones, which are seldom sent again, do not push them out. */
const LONG_CHARACTERS = 128
export const MOST_REMEMBERED = 20_000

/** By digest. Least recently used first: a map iterates in the order of insertion. */
const short = new Map<string, number>()
const long = new Map<string, number>()

/** `count` for the texts of an owner, such as a key by its id. */
export const countFor =
  (owner: string, count: CountText = countText): CountText =>
  (text) => {
    if (text.length < WORTHWHILE_CHARACTERS) return count(text)
    const remembered = text.length < LONG_CHARACTERS ? short : long
    const digest = hash("sha256", `${owner}\n${text}`, "base64")
    const tokens = remembered.get(digest) ?? count(text)
    remembered.delete(digest)
    remembered.set(digest, tokens)
    for (const oldest of remembered.keys()) {
      if (remembered.size <= MOST_REMEMBERED) break
      remembered.delete(oldest)
    }
    return tokens
  }
