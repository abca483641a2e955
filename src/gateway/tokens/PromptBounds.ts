/**
 * The bounds of a prompt's tokens: from its bytes, which are known at once, or from one pass over
 * its texts.
 */
import { type PromptBound } from "../../domain/PromptTokens.ts"
import { boundOf, type TokenBound } from "./TokenBound.ts"
import { type PromptTexts } from "./TokenCounter.ts"

/**
 * A prompt up to this length is bounded closely at once. Of a longer one this many characters are
 * read for an estimate, in as many samples.
 */
export const READ_CHARACTERS = 2_048
const SAMPLES = 16
/**
 * Most characters of a prompt that are looked at for its closer bound, which takes some
 * milliseconds. The other texts have at most as many tokens as bytes.
 */
const BOUND_CHARACTERS = 262_144
/** An estimate. */
const UNSEEN_CHARACTERS_PER_TOKEN = 3
/** The longest token. */
const CHARACTERS_PER_TOKEN = 128
/**
 * The bytes of a body are not taken if they are more than twice the length of its texts: it has
 * images.
 */
const TEXT_SHARE = 2

/** The bytes of a prompt's texts, or more. */
const bytesOf = ({ bytes, characters, texts, unread = 0 }: PromptTexts): number =>
  bytes !== undefined && bytes <= TEXT_SHARE * (characters + unread)
    ? bytes
    : texts.reduce((sum, text) => sum + Buffer.byteLength(text), unread)

/**
 * The bounds of a prompt by its bytes, because a token has at least one. The estimate comes from
 * samples at equal distances.
 */
export const roughBoundOf = (prompt: PromptTexts): PromptBound => {
  const { characters, flat, texts, unread = 0 } = prompt
  const most = flat + bytesOf(prompt)
  let [sampled, tokens] = [0, 0]
  let [from, next] = [0, 0]
  for (const text of texts) {
    for (; next < from + text.length; next += characters / SAMPLES) {
      const sample = text.slice(Math.floor(next - from), Math.floor(next - from) + READ_CHARACTERS / SAMPLES)
      sampled += sample.length
      tokens += boundOf(sample).likely
    }
    from += text.length
  }
  const likely = flat + Math.ceil((tokens * (characters + unread)) / Math.max(1, sampled))
  return { fewest: flat + Math.floor(characters / CHARACTERS_PER_TOKEN), likely: Math.min(likely, most), most }
}

/** The bounds of a prompt, in one pass over its texts. */
export const boundOfPrompt = ({ characters, flat, texts }: PromptTexts): PromptBound => {
  let [most, likely] = [flat, flat]
  let left = BOUND_CHARACTERS
  for (const text of texts) {
    const bound = text.length <= left ? boundOf(text) : unseen(text)
    most += bound.most
    likely += bound.likely
    left -= text.length
  }
  return { fewest: flat + Math.floor(characters / CHARACTERS_PER_TOKEN), likely, most }
}

const unseen = (text: string): TokenBound => ({
  most: Buffer.byteLength(text),
  likely: Math.ceil(text.length / UNSEEN_CHARACTERS_PER_TOKEN)
})
