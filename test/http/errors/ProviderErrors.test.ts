/** What clients are told about the providers that failed. */
import { assert, it } from "@effect/vitest"
import { type Attempt } from "../../../src/domain/Generation.ts"
import { causes } from "../../../src/http/errors/ProviderErrors.ts"

const failed = (provider: string, errorType: string, httpStatus: number | null = null): Attempt => ({
  provider,
  model: "test/small",
  status: "error",
  latencyMs: 5,
  errorType,
  httpStatus
})

it("each cause is named once, with the number of calls that it ended", () => {
  const down = failed("down", "unreachable")
  assert.strictEqual(causes([]), "")
  assert.strictEqual(causes([down]), ": down cannot be reached")
  assert.strictEqual(
    causes([down, failed("beta", "rate_limited", 429), down]),
    ": down cannot be reached (2 times); beta is rate limited"
  )
})
