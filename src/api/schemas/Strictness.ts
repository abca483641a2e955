/**
 * Rejects unknown members in bodies and query strings of the gateway's own endpoints, because a
 * misspelt limit would be no limit. Bodies for models stay open: providers know more members than
 * the gateway.
 */
import { Context } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"

/** All faults of a request are reported, unknown members included. */
export const strict = { errors: "all", onExcessProperty: "error" } as const

/** For a group of endpoints, including those without a query: see http/body/Validation. */
export const refusesUnknownQuery = Context.make(HttpApi.QueryParseOptions, strict)
/** For an endpoint of such a group that programs of others call. */
export const allowsUnknownQuery = Context.make(HttpApi.QueryParseOptions, { errors: "all" } as const)

/**
 * Marks the request body as optional in the OpenAPI document, for endpoints whose payload may be
 * null.
 */
export const bodyOptional = OpenApi.annotations({
  transform: (operation) => ({
    ...operation,
    requestBody: { ...Object(operation["requestBody"]), required: false }
  })
})
