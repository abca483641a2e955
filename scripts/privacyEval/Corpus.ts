/** The labelled corpus: sentences with up to two values and with traps, generated from a seed. */
import { allEntities, type Entity } from "../../src/domain/Privacy.ts"
import { type Dice, makeDice } from "./Dice.ts"
import { traps } from "./Traps.ts"
import { valueOf } from "./Values.ts"

/** The parameters of the table in docs/reference/privacy.md. */
export const SENTENCES = 4_200
export const SEED = 20_261

export interface Label {
  readonly type: Entity
  readonly start: number
  readonly end: number
}

export interface Sentence {
  readonly text: string
  readonly labels: ReadonlyArray<Label>
}

/** `0` and `1` are values, `t` is a trap. */
const frames = [
  "Please write to {0} about {t}, thank you.",
  "Customer record: {0}; {1}; reference {t}.",
  "I tried {0} and it failed with {t}!",
  "On {t} we received ({0}) from the client.",
  "The form says \"{0}\" and '{1}'.",
  "{0}",
  "- item: {0}\n- other: {t}\n",
  "Kunde: {0}, Vorgang {t}",
  "联系方式：{0}。参考 {t}",
  '{"contact": "{0}", "ref": "{t}", "next": "{1}"}',
  "Log line {t} user={0} status=ok",
  "Is {0} the same as {1}?",
  "Nothing personal in here, only {t} and {t}.",
  "See {t}; it is about {t} of last week, {t}.",
  "| {0} | {t} | {1} |",
  "<p>{0}</p><p>{t}</p>"
]

const makeSentence = (dice: Dice, entity: Entity): Sentence => {
  const labels: Array<Label> = []
  let text = ""
  for (const piece of dice.pick(frames).split(/(\{[01t]\})/)) {
    if (piece === "{t}") {
      text += dice.pick(Object.values(traps))(dice)
    } else if (piece === "{0}" || piece === "{1}") {
      const type = piece === "{0}" ? entity : dice.pick(allEntities)
      const value = valueOf(dice, type)
      const start = text.length + value.text.lastIndexOf(value.found)
      labels.push({ type, start, end: start + value.found.length })
      text += value.text
    } else text += piece
  }
  return { text, labels }
}

/** Entities alternate, so that each has its share. */
export const makeCorpus = (sentences: number, seed: number): ReadonlyArray<Sentence> => {
  const dice = makeDice(seed)
  return Array.from({ length: sentences }, (_, at) =>
    makeSentence(dice, allEntities[at % allEntities.length] ?? "email")
  )
}
