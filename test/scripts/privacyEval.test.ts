/**
 * The privacy guard's table in the documents: it equals the evaluation's output and meets the
 * required quality.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { makeCorpus, SEED, SENTENCES } from "../../scripts/privacyEval/Corpus.ts"
import { makeDice } from "../../scripts/privacyEval/Dice.ts"
import { score, table } from "../../scripts/privacyEval/Score.ts"
import { vendors } from "../../scripts/privacyEval/SecretValues.ts"
import { ibanOf, phoneLocales, withLuhn } from "../../scripts/privacyEval/Values.ts"

it.effect("every entity is found, and nothing else, in 98 of 100 cases at least", () =>
  Effect.gen(function* () {
    const { scores } = yield* score(makeCorpus(SENTENCES, SEED))
    for (const { precision, recall, type, values } of scores) {
      assert.isAbove(values, 500, type)
      assert.isAtLeast(recall, 0.98, type)
      assert.isAtLeast(precision, 0.98, type)
    }
    const documented = readFileSync(new URL("../../docs/reference/privacy.md", import.meta.url), "utf8")
    assert.include(documented, table(scores))
  })
)

it.effect("other corpora are found as well as the documented one", () =>
  Effect.gen(function* () {
    const { scores } = yield* score(makeCorpus(1_400, SEED + 1))
    for (const { precision, recall, type } of scores) {
      assert.isAtLeast(recall, 0.98, type)
      assert.isAtLeast(precision, 0.98, type)
    }
  })
)

it("the corpus is of many locales and vendors, the same for a seed, and its check digits are right", () => {
  assert.isAtLeast(phoneLocales.length, 12)
  assert.isAtLeast(Object.keys(vendors).length, 15)
  assert.deepStrictEqual(makeCorpus(50, 1), makeCorpus(50, 1))
  assert.notDeepEqual(makeCorpus(50, 1), makeCorpus(50, 2))
  assert.strictEqual(withLuhn("411111111111111"), "4111111111111111")
  assert.strictEqual(ibanOf("DE", "370400440532013000"), "DE89370400440532013000")
  assert.throws(() => makeDice(1).pick([]))
})

it("a score counts what was missed and what was wrongly found", () =>
  Effect.runPromise(
    Effect.map(
      score([
        {
          text: "a@b.co c@d.co",
          labels: [
            { type: "email", start: 0, end: 6 },
            { type: "iban", start: 7, end: 8 }
          ]
        }
      ]),
      ({ misses, scores }) => {
        assert.deepInclude(scores[0], { type: "email", values: 1, found: 1, wrong: 1, recall: 1, precision: 0.5 })
        assert.deepInclude(scores[3], { type: "iban", values: 1, found: 0, recall: 0 })
        assert.lengthOf(misses, 1)
      }
    )
  ))
