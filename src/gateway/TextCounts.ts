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

/**
 * Counts by digest, in two halves: what is asked for goes into the young one, and when that is full the old one is forgotten as a whole. Nothing is
 * deleted from a map, which would have to be walked over again and again to find what is oldest.
 */
class Remembered {
  #young = new Map<string, number>()
  #old = new Map<string, number>()

  get(digest: string): number | undefined {
    const young = this.#young.get(digest)
    if (young !== undefined) return young
    const old = this.#old.get(digest)
    if (old !== undefined) this.set(digest, old)
    return old
  }

  set(digest: string, tokens: number): void {
    if (this.#young.size >= MOST_REMEMBERED / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(digest, tokens)
  }
}

const short = new Remembered()
const long = new Remembered()

/** `count` for the texts of an owner, such as a key by its id. */
export const countFor =
  (owner: string, count: CountText = countText): CountText =>
  (text) => {
    if (text.length < WORTHWHILE_CHARACTERS) return count(text)
    const remembered = text.length < LONG_CHARACTERS ? short : long
    const digest = hash("sha256", `${owner}\n${text}`, "base64")
    const known = remembered.get(digest)
    if (known !== undefined) return known
    const tokens = count(text)
    remembered.set(digest, tokens)
    return tokens
  }
