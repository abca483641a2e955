/**
 * The development mailbox: the latest undelivered codes. In memory, bounded, lost with the process.
 */
import { Effect } from "effect"
import { type Letter } from "./CodeMessage.ts"

const KEPT = 50

export const makeMailbox = () => {
  let letters: ReadonlyArray<Letter> = []
  return {
    put: (letter: Letter): void => {
      letters = [letter, ...letters].slice(0, KEPT)
    },
    read: Effect.sync(() => letters)
  }
}
