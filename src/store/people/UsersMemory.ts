/** Users in memory, for tests and trials. Same guarantees as the tables, until the process ends. */
import { Effect, Option, Layer } from "effect"
import { mailboxOf } from "../../domain/Mailbox.ts"
import { type Identity, type UserRecord } from "../../domain/User.ts"
import { LinkingRefused, type LinkingRules } from "./LinkingRules.ts"
import { type Adopted, type UserSort, Users } from "./Users.ts"

const shares = (mine: string | null, other: string | null): boolean => mine !== null && mine === other

const matches = ({ email, id, phone }: UserRecord, search: string): boolean =>
  email?.includes(search) === true || phone?.includes(search) === true || id === search

type Order = (a: UserRecord, b: UserRecord) => number
const newestFirst: Order = (a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
const nameOf = ({ email, phone }: UserRecord): string => email ?? phone ?? ""

/** This store knows neither keys nor what they spend. */
const orders: Readonly<Record<UserSort, Order>> = {
  created: newestFirst,
  keys: newestFirst,
  spent: newestFirst,
  name: (a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : newestFirst(b, a)),
  last_sign_in: (a, b) => (b.lastSignInAtMs ?? 0) - (a.lastSignInAtMs ?? 0) || newestFirst(a, b)
}

export const makeUsersMemory = (): Users["Service"] => {
  const users = new Map<string, UserRecord>()
  /** Keyed by provider and subject. */
  const identities = new Map<string, { readonly identity: Identity; readonly userId: string }>()

  const nameOf = ({ provider, subject }: Identity): string => JSON.stringify([provider, subject])
  const knownBy = (identity: Identity): UserRecord | undefined =>
    users.get(identities.get(nameOf(identity))?.userId ?? "")
  const sharing = ({ email, phone }: UserRecord): UserRecord | undefined =>
    [...users.values()]
      .filter((user) => shares(user.email, email) || shares(user.phone, phone))
      .sort((a, b) => (a.id < b.id ? -1 : 1))[0]

  const adopt = (identity: Identity, newUser: UserRecord): Adopted => {
    const known = knownBy(identity)
    if (known !== undefined) return { user: known, outcome: "known" }
    const owner = sharing(newUser)
    const user = owner ?? newUser
    users.set(user.id, user)
    identities.set(nameOf(identity), { identity, userId: user.id })
    return { user, outcome: owner === undefined ? "created" : "linked" }
  }

  /** The rule that a new identity breaks, or null. */
  const faultOf = (owner: UserRecord | undefined, rules: LinkingRules): LinkingRefused["fault"] | null => {
    if (owner !== undefined) {
      const isAsked = rules.provenId !== undefined && owner.role === "admin" && owner.lastSignInAtMs !== null
      return isAsked && owner.id !== rules.provenId ? "unproven" : null
    }
    if (!rules.mayCreate) return "closed"
    const created = [...users.values()].filter(({ createdAtMs }) => createdAtMs > rules.createdSinceMs)
    return created.length >= rules.maxCreated ? "full" : null
  }

  const sharesMailbox = ({ email: mine }: UserRecord): boolean =>
    mine !== null && [...users.values()].some(({ email }) => email !== null && mailboxOf(email) === mailboxOf(mine))

  return {
    adopt: (identity, newUser) => Effect.sync(() => adopt(identity, newUser)),

    admit: (identity, newUser, rules) =>
      Effect.suspend(() => {
        if (knownBy(identity) !== undefined) return Effect.succeed(adopt(identity, newUser))
        const fault = faultOf(sharing(newUser), rules)
        if (fault !== null) return Effect.fail(new LinkingRefused({ fault }))
        const grants = sharesMailbox(newUser) ? { ...newUser.grants, monthlyBudgetNano: 0 } : newUser.grants
        return Effect.succeed(adopt(identity, { ...newUser, grants }))
      }),

    get: (id) => Effect.sync(() => Option.fromUndefinedOr(users.get(id))),

    identities: (id) =>
      Effect.sync(() =>
        [...identities.values()]
          .filter(({ userId }) => userId === id)
          .map(({ identity }) => identity)
          .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.provider < b.provider ? -1 : 1))
      ),

    named: (ids) =>
      Effect.sync(
        () =>
          new Map(
            [...users.values()].flatMap(({ email, id, phone }) => {
              const name = email ?? phone
              return name !== null && ids.includes(id) ? [[id, name] as const] : []
            })
          )
      ),

    list: ({ cursor, email, isReversed = false, limit, search, sort = "created" }) =>
      Effect.sync(() => {
        const order: Order = (a, b) => (isReversed ? orders[sort](b, a) : orders[sort](a, b))
        const last = cursor === null ? undefined : users.get(cursor)
        const found = [...users.values()]
          .filter((user) => email === undefined || user.email === email)
          .filter((user) => search === undefined || matches(user, search))
          .filter((user) => cursor === null || (last !== undefined && order(last, user) < 0))
          .sort(order)
        const page = found.slice(0, limit)
        return { users: page, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    total: ({ email, search }) =>
      Effect.sync(
        () =>
          [...users.values()].filter(
            (user) => (email ?? user.email) === user.email && (search === undefined || matches(user, search))
          ).length
      ),

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

/** Each build starts empty. */
export const layer = Layer.sync(Users, makeUsersMemory)
