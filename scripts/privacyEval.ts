/**
 * Measures the privacy guard on a generated corpus and prints the table of
 * docs/reference/privacy.md. `--misses` also prints the values that were missed or wrongly found.
 * The same seed gives the same corpus.
 */
import { Effect } from "effect"
import { makeCorpus, SEED, SENTENCES } from "./privacyEval/Corpus.ts"
import { score, table } from "./privacyEval/Score.ts"

const { misses, scores } = await Effect.runPromise(score(makeCorpus(SENTENCES, SEED)))
console.log(table(scores))
if (process.argv.includes("--misses")) {
  for (const { missed, text, wrong } of misses) console.log(JSON.stringify({ text, missed, wrong }))
}
