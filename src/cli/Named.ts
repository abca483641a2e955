/**
 * Finds keys and users by what a person types: the whole id, an id as a table cut it, the name or
 * the address. A text that fits several is refused with all of them; a typing mistake gets "did you
 * mean".
 */
import { Effect } from "effect"
import type { ApiKey } from "../api/Keys.ts"
import type { Account } from "../api/signin/Users.ts"
import type { TollgateShape } from "../client/Client.ts"
import { nearest } from "../domain/Nearest.ts"
import { CommandFailed } from "./Failure.ts"
import { readAll } from "./Pages.ts"

const PAGE = 1_000
/** The most that a fault lists. */
const MOST_SHOWN = 5
/** A shorter beginning of an id fits anything. */
const SHORTEST = 8

/** True if `text` is the id, its beginning, or its beginning and end with `…` or `...` between. */
export const isCutOf = (text: string, id: string): boolean => {
  if (text === id) return true
  const [start = "", end] = text.split(/…|\.{3}/)
  if (end === undefined || end === "") return start.length >= SHORTEST && id.startsWith(start)
  return start.length + end.length >= SHORTEST && id.startsWith(start) && id.endsWith(end)
}

interface Kind<A> {
  readonly noun: string
  readonly idOf: (one: A) => string
  /** What else stands for it. */
  readonly namesOf: (one: A) => ReadonlyArray<string>
  readonly remedy: string
}

const chosen = <A>(
  text: string,
  all: ReadonlyArray<A>,
  { idOf, namesOf, noun, remedy }: Kind<A>
): Effect.Effect<A, CommandFailed> => {
  const lower = text.toLowerCase()
  const named = all.filter((one) => namesOf(one).some((name) => name.toLowerCase() === lower))
  const found = named.length > 0 ? named : all.filter((one) => isCutOf(text, idOf(one)))
  const [first, second] = found
  if (first !== undefined && second === undefined) return Effect.succeed(first)
  if (first !== undefined) {
    const shown = found.slice(0, MOST_SHOWN).map((one) => `${idOf(one)} (${namesOf(one)[0] ?? "-"})`)
    const more = found.length > MOST_SHOWN ? `, and ${found.length - MOST_SHOWN} more` : ""
    return Effect.fail(
      new CommandFailed({
        code: "refused",
        message: `"${text}" stands for ${found.length} ${noun}s: ${shown.join(", ")}${more}.`,
        remedy: "Write more of the id."
      })
    )
  }
  const near = nearest(text, all.flatMap(namesOf))
  return Effect.fail(
    new CommandFailed({
      code: "refused",
      message: `There is no ${noun} "${text}".`,
      remedy: near === null ? remedy : `Did you mean "${near}"?`
    })
  )
}

/** The key that a text stands for. */
export const findKey = Effect.fnUntraced(function* ({ keys }: TollgateShape, text: string) {
  if (/^key_[0-9a-f]{32}$/.test(text)) return yield* keys.get({ params: { key_id: text } })
  const all = yield* readAll((cursor) => keys.list({ query: { limit: PAGE, ...cursor } }))
  return yield* chosen<ApiKey>(text, all, {
    noun: "key",
    idOf: ({ id }) => id,
    namesOf: ({ name, prefix }) => [name, prefix],
    remedy: "See `tollgate keys list`."
  })
})

/** The user that a text stands for. */
export const findUser = Effect.fnUntraced(function* ({ users }: TollgateShape, text: string) {
  const all = yield* readAll((cursor) => users.list({ query: { limit: PAGE, ...cursor } }))
  return yield* chosen<Account>(text, all, {
    noun: "user",
    idOf: ({ id }) => id,
    namesOf: ({ email, phone }) => [email, phone].filter((name) => name !== null),
    remedy: "See `tollgate users list`."
  })
})
