/**
 * The contract for clients: method, path, credential and decoder of every endpoint, and the types
 * of the calls. All of it is derived from `Api`, so client and gateway cannot differ.
 */
import { type Schema, type Stream } from "effect"
import { HttpApi, type HttpApiClient, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { AdminAuthorization, Authorization, SessionAuthorization } from "../api/Authorization.ts"
import { MessagesAuthorization } from "../api/MessagesErrors.ts"
import { type Decode, decoderOfAnswers } from "./Decoding.ts"

/** The credential that an endpoint requires. Endpoints without one get none. */
export type Credential = "apiKey" | "admin" | "session" | null

export interface Endpoint {
  readonly group: string
  readonly name: string
  readonly method: HttpApiEndpoint.Top["method"]
  /** With `:name` for parameters. */
  readonly path: string
  readonly credential: Credential
  /** The success statuses. */
  readonly successes: ReadonlySet<number>
  readonly decode: Decode
}

const credentialOf = (middleware: ReadonlySet<string>): Credential => {
  if (middleware.has(Authorization.key) || middleware.has(MessagesAuthorization.key)) return "apiKey"
  if (middleware.has(AdminAuthorization.key)) return "admin"
  return middleware.has(SessionAuthorization.key) ? "session" : null
}

const collect = (): ReadonlyArray<Endpoint> => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group, middleware, successes }) => {
      found.push({
        group: group.identifier,
        name: endpoint.identifier,
        method: endpoint.method,
        path: endpoint.path,
        credential: credentialOf(new Set([...middleware].map(({ key }) => key))),
        successes: new Set(successes.keys()),
        decode: decoderOfAnswers(successes)
      })
    }
  })
  return found
}

export const endpoints: ReadonlyArray<Endpoint> = collect()

/** A call for every endpoint, by group and name, and `stream` for each group that has one. */
export function grouped<Shape>(call: (endpoint: Endpoint) => unknown, streams: Readonly<Record<string, unknown>>): Shape
export function grouped(call: (endpoint: Endpoint) => unknown, streams: Readonly<Record<string, unknown>>): unknown {
  const groups: Record<string, Record<string, unknown>> = {}
  for (const endpoint of endpoints) {
    groups[endpoint.group] = { ...groups[endpoint.group], [endpoint.name]: call(endpoint) }
  }
  for (const [group, stream] of Object.entries(streams)) groups[group] = { ...groups[group], stream }
  return groups
}

type Groups = typeof Api extends HttpApi.HttpApi<infer _, infer All> ? All : never
type AnyEndpoint = HttpApiEndpoint.ConstraintRequest

/** Query values in code: numbers are numbers, moments are ISO 8601. */
type QueryOf<S extends Schema.Constraint> = {
  readonly [K in keyof S["Encoded"]]: K extends keyof S["Type"]
    ? Exclude<S["Type"][K], undefined> extends number
      ? number
      : S["Encoded"][K]
    : S["Encoded"][K]
}

type Part<Name extends string, Whole, Value> = [Whole] extends [never] ? unknown : { readonly [K in Name]: Value }

/** The query is optional if all its members are. */
type QueryPart<S extends Schema.Constraint> = [S["Encoded"]] extends [never]
  ? unknown
  : {} extends S["Encoded"]
    ? { readonly query?: QueryOf<S> }
    : { readonly query: QueryOf<S> }

/** The input of a call: path parameters, query, and the body as JSON. */
export type RequestOf<E extends AnyEndpoint> = Part<"params", E["~Params"]["Encoded"], E["~Params"]["Encoded"]> &
  QueryPart<E["~Query"]> &
  Part<"payload", E["~Payload"]["Encoded"], E["~Payload"]["Encoded"]>

/** The whole result of a call. */
export type AnswerOf<E extends AnyEndpoint> = Exclude<
  HttpApiClient.SuccessType<E["~Success"]>,
  Stream.Stream<unknown, unknown>
>

export type GroupNames = Groups["identifier"]
export type EndpointsOf<Name extends GroupNames> = Extract<
  HttpApiGroup.Endpoints<HttpApiGroup.WithIdentifier<Groups, Name>>,
  AnyEndpoint
>
