/** The guarantees of every Users store, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { mailboxOf } from "../../../src/domain/Mailbox.ts"
import { type Identity, type UserRecord } from "../../../src/domain/User.ts"
import { type LinkingRules } from "../../../src/store/people/LinkingRules.ts"
import { Users } from "../../../src/store/people/Users.ts"

const T0 = Date.UTC(2026, 10, 21)

let count = 0
/** A new user for each test, so that tests can share a database. Later ones have greater ids. */
export const makeUser = (overrides: Partial<UserRecord> = {}): UserRecord => ({
  id: `usr_${String(++count).padStart(32, "0")}`,
  email: null,
  phone: null,
  role: "user",
  state: "active",
  grants: { tier: "free", monthlyBudgetNano: 1_000_000_000, scopes: ["chat:write", "models:read"] },
  createdAtMs: T0,
  updatedAtMs: T0,
  lastSignInAtMs: null,
  ...overrides
})

const identity = (provider: string, subject: string, email: string | null = null): Identity => ({
  provider,
  subject,
  email,
  createdAtMs: T0
})

const open: LinkingRules = { mayCreate: true, maxCreated: 1_000_000, createdSinceMs: T0 }

export const usersSuite = (it: Vitest.MethodsNonLive<Users>): void => {
  describe("Users", () => {
    it.effect("creates a user for a new identity, and finds the same one again", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const full = makeUser({
          email: "zoë@example.com",
          phone: "+12025550123",
          role: "admin",
          grants: { tier: "enterprise", monthlyBudgetNano: null, scopes: [] },
          lastSignInAtMs: T0 + 1
        })
        const google = identity("google", "made-1", "zoë@example.com")
        assert.deepStrictEqual(yield* users.adopt(google, full), { user: full, outcome: "created" })
        assert.deepStrictEqual(yield* users.adopt(google, makeUser()), { user: full, outcome: "known" })
        assert.deepStrictEqual(yield* users.get(full.id), Option.some(full))
        assert.deepStrictEqual(yield* users.identities(full.id), [google])
        assert.deepStrictEqual(yield* users.identities("usr_nobody"), [])
        assert.isTrue(Option.isNone(yield* users.get("usr_nobody")))
      })
    )

    it.effect("links a new identity to the user with its verified address or number, and never without one", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const anna = makeUser({ email: "anna@example.com" })
        yield* users.adopt(identity("email", "anna@example.com", "anna@example.com"), anna)
        const linked = yield* users.adopt(
          identity("google", "anna-1", "anna@example.com"),
          makeUser({ email: "anna@example.com" })
        )
        assert.deepStrictEqual(linked, { user: anna, outcome: "linked" })
        const unproved = yield* users.adopt(identity("okta", "anna-2", "anna@example.com"), makeUser())
        assert.strictEqual(unproved.outcome, "created")
        assert.notStrictEqual(unproved.user.id, anna.id)
        const subjects = (yield* users.identities(anna.id)).map(({ subject }) => subject)
        assert.deepStrictEqual(subjects, ["anna@example.com", "anna-1"])
      })
    )

    it.effect("creates no user when creation is closed, and still finds and links existing ones", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const closed = { ...open, mayCreate: false }
        const bea = makeUser({ email: "bea@example.com" })
        const mail = identity("email", "bea@example.com")
        const refused = yield* Effect.flip(users.admit(mail, bea, closed))
        assert.deepInclude(refused, { _tag: "LinkingRefused", fault: "closed" })
        assert.isTrue(Option.isNone(yield* users.get(bea.id)))
        assert.strictEqual((yield* users.admit(mail, bea, open)).outcome, "created")
        assert.deepStrictEqual(yield* users.admit(mail, makeUser(), closed), { user: bea, outcome: "known" })
        const google = yield* users.admit(identity("google", "bea"), makeUser({ email: "bea@example.com" }), closed)
        assert.deepStrictEqual(google, { user: bea, outcome: "linked" })
      })
    )

    it.effect("creates users up to a limit per time, however many sign-ins are concurrent", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const [createdAtMs, createdSinceMs] = [T0 + 1_000_000, T0 + 999_999]
        const admitted = yield* Effect.forEach(
          Array.from({ length: 12 }, () => makeUser({ createdAtMs })),
          (user) =>
            Effect.result(users.admit(identity("day", user.id), user, { ...open, maxCreated: 5, createdSinceMs })),
          { concurrency: "unbounded" }
        )
        const outcomes = admitted.map((one) => (one._tag === "Success" ? one.success.outcome : one.failure._tag))
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === "created"),
          5
        )
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === "LinkingRefused"),
          7
        )
        const later = { ...open, maxCreated: 5, createdSinceMs: createdAtMs }
        assert.strictEqual((yield* users.admit(identity("day", "late"), makeUser(), later)).outcome, "created")
      })
    )

    it.effect("creates a second user of a mailbox without a budget", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const grantOf = (email: string) =>
          Effect.map(users.admit(identity("email", email), makeUser({ email }), open), ({ outcome, user }) => {
            assert.strictEqual(outcome, "created", email)
            return user.grants.monthlyBudgetNano
          })
        // Each has its own mailbox, under different addresses.
        const mailboxes = [
          ["m.one@example.com", "m.one+a@example.com", "m.one+b+c@example.com"],
          ["mone@example.com"],
          ["m.two@gmail.com", "mtwo@gmail.com", "m.t.w.o+x@googlemail.com"],
          ["+m@example.com"],
          ["+n@example.com"],
          ["m.one@mail.example.com"]
        ]
        for (const [first = "", ...others] of mailboxes) {
          assert.strictEqual(yield* grantOf(first), 1_000_000_000, first)
          for (const other of others) {
            assert.strictEqual(mailboxOf(other), mailboxOf(first))
            assert.strictEqual(yield* grantOf(other), 0, other)
          }
        }
      })
    )

    it.effect("links a new identity to an admin who has signed in before only with proof, when proof is required", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const email = "chief@example.com"
        const chief = makeUser({ email, role: "admin" })
        yield* users.adopt(identity("email", email), chief)
        const come = (provider: string, rules: LinkingRules) =>
          Effect.map(Effect.result(users.admit(identity(provider, "chief"), makeUser({ email }), rules)), (result) =>
            result._tag === "Success" ? result.success.outcome : result.failure
          )
        assert.strictEqual(yield* come("first", { ...open, provenId: null }), "linked")
        yield* users.update(chief.id, { lastSignInAtMs: T0 }, T0)
        for (const provenId of [null, "usr_another"]) {
          assert.deepInclude(yield* come("evil", { ...open, provenId }), {
            _tag: "LinkingRefused",
            fault: "unproven"
          })
        }
        assert.lengthOf(yield* users.identities(chief.id), 2)
        assert.strictEqual(yield* come("first", { ...open, provenId: null }), "known")
        assert.strictEqual(yield* come("google", { ...open, provenId: chief.id }), "linked")
        assert.strictEqual(yield* come("sms", open), "linked")
        yield* users.update(chief.id, { role: "user" }, T0)
        assert.strictEqual(yield* come("okta", { ...open, provenId: null }), "linked")
      })
    )

    it.effect("the same subject at two providers is two users", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const first = yield* users.adopt(identity("google", "17"), makeUser())
        const second = yield* users.adopt(identity("github", "17"), makeUser())
        assert.notStrictEqual(first.user.id, second.user.id)
      })
    )

    it.effect("concurrent sign-ins of one new user create one", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const adopted = yield* Effect.forEach(
          Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? "email" : `idp${index % 3}`)),
          (provider) => users.adopt(identity(provider, "crowd@example.com"), makeUser({ email: "crowd@example.com" })),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(adopted.map(({ user }) => user.id)).size, 1)
        assert.lengthOf(
          adopted.filter(({ outcome }) => outcome === "created"),
          1
        )
      })
    )

    it.effect("changes only the members of a patch", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const user = makeUser({ email: "patch@example.com" })
        yield* users.adopt(identity("email", "patch@example.com"), user)
        const grants = { tier: "pro" as const, monthlyBudgetNano: null, scopes: ["models:read" as const] }
        const granted = yield* users.update(user.id, { grants }, T0 + 5)
        assert.deepStrictEqual(granted, Option.some({ ...user, grants, updatedAtMs: T0 + 5 }))
        const changed = yield* users.update(user.id, { role: "admin", state: "suspended", lastSignInAtMs: 7 }, T0 + 6)
        assert.deepStrictEqual(
          changed,
          Option.some({ ...user, grants, role: "admin", state: "suspended", lastSignInAtMs: 7, updatedAtMs: T0 + 6 })
        )
        assert.isTrue(Option.isNone(yield* users.update("usr_nobody", { role: "admin" }, T0)))
      })
    )

    it.effect("loses none of several concurrent changes of grants", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const user = makeUser()
        yield* users.adopt(identity("email", user.id), user)
        const changes = [
          { tier: "pro" as const },
          { monthlyBudgetNano: 7 },
          { scopes: ["embeddings:write" as const] }
        ] as const
        yield* Effect.forEach(changes, (grants) => users.update(user.id, { grants }, T0), { concurrency: "unbounded" })
        const { grants } = Option.getOrThrow(yield* users.get(user.id))
        assert.deepStrictEqual(grants, { tier: "pro", monthlyBudgetNano: 7, scopes: ["embeddings:write"] })
      })
    )

    it.effect("lists newest first, in pages, or the one with an address", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const made = [makeUser(), makeUser(), makeUser({ email: "last@example.com" })]
        for (const user of made) yield* users.adopt(identity("list", user.id), user)
        const newest = made.map(({ id }) => id).toReversed()
        const first = yield* users.list({ limit: 2, cursor: null })
        assert.deepStrictEqual(
          first.users.map(({ id }) => id),
          newest.slice(0, 2)
        )
        assert.strictEqual(first.nextCursor, newest[1])
        const next = yield* users.list({ limit: 1, cursor: first.nextCursor })
        assert.strictEqual(next.users[0]?.id, newest[2])
        const one = yield* users.list({ limit: 10, cursor: null, email: "last@example.com" })
        assert.deepStrictEqual([one.users.map(({ id }) => id), one.nextCursor], [newest.slice(0, 1), null])
      })
    )

    it.effect("finds users by a part of the address or number, and by the id", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const [mail, phone] = [makeUser({ email: "find-%_me@example.org" }), makeUser({ phone: "+15550107777" })]
        for (const user of [mail, phone]) yield* users.adopt(identity("list", user.id), user)
        const find = (search: string) =>
          Effect.map(users.list({ limit: 10, cursor: null, search }), (page) => page.users.map(({ id }) => id))
        assert.deepStrictEqual(yield* find("find-%_me@"), [mail.id])
        assert.deepStrictEqual(yield* find("0107777"), [phone.id])
        assert.deepStrictEqual(yield* find(phone.id), [phone.id])
        assert.deepStrictEqual(yield* find("find-x_me"), [])
        assert.deepStrictEqual(yield* find("' OR true --"), [])
      })
    )
  })
}
