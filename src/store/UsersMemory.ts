/** Users in memory, for tests and for trying things out: the same promises as the tables, and forgotten with the process. */
import { Effect, Option } from "effect"
import { type Identity, type UserRecord } from "../domain/User.ts"
import type { Users } from "./Users.ts"

const shares = (mine: string | null, other: string | null): boolean => mine !== null && mine === other

const matches = ({ email, id, phone }: UserRecord, search: string): boolean =>
  email?.includes(search) === true || phone?.includes(search) === true || id === search

export const makeUsersMemory = (): Users["Service"] => {
  const users = new Map<string, UserRecord>()
  /** By provider and subject. */
  const identities = new Map<string, { readonly identity: Identity; readonly userId: string }>()

  return {
    adopt: (identity, newUser) =>
      Effect.sync(() => {
        const name = JSON.stringify([identity.provider, identity.subject])
        const known = users.get(identities.get(name)?.userId ?? "")
        if (known !== undefined) return { user: known, outcome: "known" }
        const sharing = [...users.values()]
          .filter(({ email, phone }) => shares(email, newUser.email) || shares(phone, newUser.phone))
          .sort((a, b) => (a.id < b.id ? -1 : 1))
        const user = sharing[0] ?? newUser
        users.set(user.id, user)
        identities.set(name, { identity, userId: user.id })
        return { user, outcome: sharing.length > 0 ? "linked" : "created" }
      }),

    get: (id) => Effect.sync(() => Option.fromUndefinedOr(users.get(id))),

    identities: (id) =>
      Effect.sync(() =>
        [...identities.values()]
          .filter(({ userId }) => userId === id)
          .map(({ identity }) => identity)
          .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.provider < b.provider ? -1 : 1))
      ),

    list: ({ cursor, email, limit, search }) =>
      Effect.sync(() => {
        const found = [...users.values()]
          .filter((user) => email === undefined || user.email === email)
          .filter((user) => search === undefined || matches(user, search))
          .filter((user) => cursor === null || user.id < cursor)
          .sort((a, b) => (a.id < b.id ? 1 : -1))
        const page = found.slice(0, limit)
        return { users: page, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    update: (id, patch, nowMs) =>
      Effect.sync(() => {
        const user = users.get(id)
        if (user === undefined) return Option.none()
        const next = { ...user, ...patch, grants: { ...user.grants, ...patch.grants }, updatedAtMs: nowMs }
        users.set(id, next)
        return Option.some(next)
      })
  }
}
