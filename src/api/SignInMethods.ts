/** `GET /auth/methods`: the ways of signing in that this gateway offers, for pages that have to ask. Anyone may. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Channel } from "../domain/User.ts"
import { errors } from "./Failure.ts"

export const SignInMethods = Schema.Struct({
  channels: Schema.Array(Channel),
  /** By the name that stands in `/auth/oauth/{provider}`. */
  providers: Schema.Array(Schema.String),
  /** Whether the caller may read codes that nobody could send, at `/auth/dev/mailbox`. */
  development_mailbox: Schema.Boolean
}).annotate({ identifier: "SignInMethods" })
export type SignInMethods = typeof SignInMethods.Type

export class SignInMethodsGroup extends HttpApiGroup.make("signInMethods")
  .add(
    HttpApiEndpoint.get("read", "/auth/methods", { success: SignInMethods, error: errors(500) }).annotateMerge(
      OpenApi.annotations({ title: "The ways of signing in that there are" })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Ways of signing in" })) {}
