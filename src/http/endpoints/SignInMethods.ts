/**
 * The endpoint of sign-in methods. The development mailbox is only listed for requests from this
 * machine, which may read it.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { SignInMethods } from "../../gateway/signin/SignInMethods.ts"
import { isLocal } from "../auth/ClientAddress.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "signInMethods",
  Effect.fnUntraced(function* (handlers) {
    const { channels, hasMailbox, providers } = yield* SignInMethods
    return handlers.handle("read", () =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => ({
        channels,
        providers,
        development_mailbox: hasMailbox && isLocal(request)
      }))
    )
  })
)
