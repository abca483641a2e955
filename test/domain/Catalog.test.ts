import { assert, it } from "@effect/vitest"
import { deniesCollection, unknownPolicy } from "../../src/domain/Catalog.ts"

it("only who neither trains, nor retains, and says so with zero data retention, may serve `deny`", () => {
  const best = { training: false, retainsPrompts: false, retentionDays: 0, zdr: true }
  assert.isTrue(deniesCollection(best))
  assert.isFalse(deniesCollection(unknownPolicy))
  assert.isFalse(deniesCollection({ ...best, training: true }))
  assert.isFalse(deniesCollection({ ...best, retainsPrompts: true }))
  assert.isFalse(deniesCollection({ ...best, zdr: false }))
})
