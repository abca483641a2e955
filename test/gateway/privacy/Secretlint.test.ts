/**
 * Checks the vendors' keys against an independent list: the gateway finds everything in the corpus
 * that secretlint's recommended rules find. (Requests are not searched with secretlint itself,
 * because comments in the text can switch it off.)
 */
import { lintSource } from "@secretlint/core"
import { creator } from "@secretlint/secretlint-rule-preset-recommend"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeDice } from "../../../scripts/privacyEval/Dice.ts"
import { secretOf, vendors } from "../../../scripts/privacyEval/SecretValues.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { scanned } from "./scanning.ts"

const secretlint = (content: string) =>
  Effect.promise(() =>
    lintSource({
      source: { filePath: "prompt.txt", content, contentType: "text", ext: ".txt" },
      options: {
        config: { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: creator, options: {} }] },
        noPhysicFilePath: true
      }
    })
  )

it.effect("finds all that secretlint finds", () =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([])
    const dice = makeDice(7)
    const values = [
      ...Object.values(vendors).map((make) => make(dice)),
      ...Array.from({ length: 100 }, () => secretOf(dice).text)
    ]
    const text = values.map((value) => `key ${value} end`).join("\n\n")
    const spans = scanned(scan, text, new Set(["secret"])) ?? []
    const { messages } = yield* secretlint(text)
    assert.isAbove(messages.length, 50)
    for (const { messageId, range } of messages) {
      const [start, end] = range
      // Its rules for URLs and private keys report text around the secret, or only the secret's
      // start.
      const covered = spans.some((span) => span.start < end && span.end > start)
      assert.isTrue(covered, `${messageId}: ${text.slice(start, end)}`)
    }
  })
)

it.effect("is not switched off by a comment in the text", () =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([])
    const text = `# secretlint-disable\nghp_${"a1B2".repeat(9)}`
    assert.lengthOf((yield* secretlint(text)).messages, 0)
    assert.lengthOf(scanned(scan, text, new Set(["secret"])) ?? [], 1)
  })
)
