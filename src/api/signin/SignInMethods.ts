/** `GET /auth/methods`: the sign-in methods of this gateway, for sign-in pages. Public. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Channel } from "../../domain/User.ts"
import { errors } from "../Failure.ts"

export const SignInMethods = Schema.Struct({
  channels: Schema.Array(Channel),
  /** Names as used in `/auth/oauth/{provider}`. */
  providers: Schema.Array(Schema.String),
  /** True if the caller may read undelivered codes at `/auth/dev/mailbox`. */
  development_mailbox: Schema.Boolean
}).annotate({ identifier: "SignInMethods" })
export type SignInMethods = typeof SignInMethods.Type

export class SignInMethodsGroup extends HttpApiGroup.make("signInMethods")
  .add(
    HttpApiEndpoint.get("read", "/auth/methods", { success: SignInMethods, error: errors(500) }).annotateMerge(
      OpenApi.annotations({ summary: "List the sign-in methods" })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Sign-in methods" })) {}
