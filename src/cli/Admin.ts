/** `tollgate admin`: who may administer. People are known once they have signed in; the admin key makes the first of them an admin. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { type Role } from "../domain/User.ts"
import { connect } from "./Connection.ts"
import { CommandFailed } from "./Failure.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"

const email = Argument.String("email").pipe(Argument.withDescription("The address that they sign in with"))

const setRole = Effect.fnUntraced(function* (email: string, role: Role) {
  const { users } = yield* connect("adminKey")
  const found = yield* users.list({ query: { email } }).pipe(withProgress("looking for the user"))
  const user = found.data[0]
  if (user === undefined) {
    return yield* new CommandFailed({
      code: "refused",
      message: `Nobody has signed in as ${email}.`,
      remedy: "They become known when they sign in; or list the address under `auth.admins` of the settings file."
    })
  }
  const changed = yield* users
    .update({ params: { user_id: user.id }, payload: { role } })
    .pipe(withProgress("changing the user"))
  const words = role === "admin" ? "is an admin" : "is no admin any more"
  yield* answer(changed, `${changed.email ?? email} (${changed.id}) ${words}.`)
})

const grant = Command.make("grant", { email }, ({ email }) => setRole(email, "admin")).pipe(
  Command.withDescription("Make a user an admin")
)

const revoke = Command.make("revoke", { email }, ({ email }) => setRole(email, "user")).pipe(
  Command.withDescription("Make an admin a user again")
)

export const admin = Command.make("admin").pipe(
  Command.withDescription("Say who may administer"),
  Command.withSubcommands([grant, revoke])
)
