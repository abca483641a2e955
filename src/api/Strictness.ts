/**
 * What the gateway's own endpoints refuse: members of bodies and of query strings that nobody knows, because a misspelt limit is no limit.
 * Bodies of models stay open by their schemas: providers know more members than the gateway.
 */
import { Context } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"

/** Every fault of a request is listed, unknown members included. */
export const strict = { errors: "all", onExcessProperty: "error" } as const

/** For a group of endpoints, those without a query of their own included: see http/body/Validation. */
export const refusesUnknownQuery = Context.make(HttpApi.QueryParseOptions, strict)

/** The document's word for an endpoint whose payload may be null: it may be sent no body. */
export const bodyOptional = OpenApi.annotations({
  transform: (operation) => ({
    ...operation,
    requestBody: { ...Object(operation["requestBody"]), required: false }
  })
})
