/** Flags of lists: how many rows. */
import { Flag } from "effect/cli"

/** `what` and its default, such as "The most rows. Default: 20". */
export const limitFlag = (description: string) =>
  Flag.Int("limit").pipe(
    Flag.withDescription(description),
    Flag.filter(
      (limit) => limit > 0,
      (limit) => `Write a number above 0, not ${limit}`
    )
  )
