/** `tollgate admin`: makes users admins, by e-mail address. The admin key makes the first one. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { answer } from "../Output.ts"
import { withProgress } from "../Progress.ts"

const email = Argument.String("email").pipe(Argument.withDescription("The e-mail address that the user signs in with"))

const grant = Command.make(
  "grant",
  { email },
  Effect.fnUntraced(function* ({ email }) {
    const { users } = yield* connect("adminKey")
    const user = yield* users.grant({ payload: { email, role: "admin" } }).pipe(withProgress("changing the user"))
    yield* answer(user, `${user.email ?? email} (${user.id}) is an admin.`)
  })
).pipe(
  Command.withDescription("Make the owner of an e-mail address an admin, also before the first sign-in"),
  Command.withExamples([{ command: "tollgate admin grant ada@example.com" }])
)

const revoke = Command.make(
  "revoke",
  { email },
  Effect.fnUntraced(function* ({ email }) {
    const { users } = yield* connect("adminKey")
    const found = yield* users.list({ query: { email } }).pipe(withProgress("looking for the user"))
    const user = found.data[0]
    if (user === undefined) {
      return yield* new CommandFailed({ code: "refused", message: `There is no user with the address ${email}.` })
    }
    const changed = yield* users
      .update({ params: { user_id: user.id }, payload: { role: "user" } })
      .pipe(withProgress("changing the user"))
    yield* answer(changed, `${changed.email ?? email} (${changed.id}) is no longer an admin.`)
  })
).pipe(
  Command.withDescription("Make an admin a user again"),
  Command.withExamples([{ command: "tollgate admin revoke ada@example.com" }])
)

export const admin = Command.make("admin").pipe(
  Command.withDescription("Manage admins"),
  Command.withSubcommands([grant, revoke])
)
