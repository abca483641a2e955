/** How hard the admin key of a production has to be to guess. One that the gateway makes itself is 256 random bits. */
import { Redacted } from "effect"
import { type Faults } from "./Faults.ts"

/** An admin key that could be guessed, which opens everything. */
export const weakAdminKey = (adminKey: Redacted.Redacted | null): Faults => {
  if (adminKey === null) return []
  const key = Redacted.value(adminKey)
  return key.length >= 32 && new Set(key).size >= 10
    ? []
    : [
        {
          setting: "TOLLGATE_ADMIN_KEY",
          problem: "is too easy to guess for production",
          expected: "at least 32 random characters, such as `openssl rand -hex 32` prints"
        }
      ]
}
