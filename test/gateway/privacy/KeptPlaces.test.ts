/** The list of unmasked places, and the page that shows it. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { nativePlaces } from "../../../src/gateway/privacy/KeptNativePlaces.ts"
import { keptPlaces } from "../../../src/gateway/privacy/KeptPlaces.ts"

it("docs/reference/privacy.md shows every place with its reason, and no other", () => {
  const page = readFileSync("docs/reference/privacy.md", "utf8")
  const section = page.slice(page.indexOf("## Exceptions"), page.indexOf("## The mode of a key"))
  const rows = section.split("\n").filter((line) => line.startsWith("| `"))
  const shown = rows.map((row) => {
    const [where = "", , why = ""] = row.split("|").slice(1)
    return [Array.from(where.matchAll(/`([^`]+)`/g), ([, path]) => path), why.trim()]
  })
  assert.deepStrictEqual(
    shown,
    [...keptPlaces, ...nativePlaces.anthropic.kept, ...nativePlaces.responses.kept].map(({ paths, why }) => [
      [...paths],
      why
    ])
  )
})
