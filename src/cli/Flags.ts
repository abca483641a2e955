/** Flags that several commands have. */
import { Flag } from "effect/cli"

/** On if it is given, without a `--no-` form. */
export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withoutNegation, Flag.withDefault(false))

/** The number of rows of a list. `description` names its default. */
export const limitFlag = (description: string) =>
  Flag.Int("limit").pipe(
    Flag.withDescription(description),
    Flag.filter(
      (limit) => limit > 0,
      (limit) => `Write a number above 0, not ${limit}`
    )
  )
