/**
 * Compares each response of a test's gateway with the contract. The endpoint must declare the
 * status, and a schema of this status must accept the body with all its members. A mismatch fails
 * the test when its gateway stops.
 */
import { Effect, Predicate, Result, Schema, Stream } from "effect"
import { HttpBody, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import { ErrorEnvelope } from "../../src/api/Failure.ts"
import { MessagesErrorBody } from "../../src/api/MessagesErrors.ts"

interface Declared {
  readonly name: string
  readonly method: string
  readonly path: RegExp
  /** The schemas of JSON bodies and of empty ones, by status. */
  readonly answers: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
  /** The schema of a stream's events. */
  readonly events: Schema.Top | undefined
}

const eventsOf = (success: Schema.Top): Schema.Top | undefined =>
  Predicate.hasProperty(success, "events") && Schema.isSchema(success.events) ? success.events : undefined

const endpoints: Array<Declared> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint: { identifier, method, path, success }, errors, group, successes }) => {
    endpoints.push({
      name: `${group.identifier}.${identifier}`,
      method,
      path: new RegExp(`^${path.replaceAll(/:[^/]+/g, "[^/]+")}/?$`),
      answers: new Map([...errors, ...successes]),
      events: [...success].map(eventsOf).find((events) => events !== undefined)
    })
  }
})

const pages = /^\/(?:|llms\.txt|docs(?:\/[^/]+){0,2}|openapi\.json|console(?:\/[^/]*)?)\/?$/

/** Responses of any path, sent before an endpoint is matched. */
const ofTheEdge: ReadonlyMap<number, string> = new Map([[400, "malformed_request"]])
/** Responses to a path or method without an endpoint. */
const unrouted: ReadonlyMap<number, string> = new Map([
  [404, "route_not_found"],
  [405, "method_not_allowed"]
])

const decode = (schema: Schema.Top, body: unknown) =>
  Schema.decodeUnknownResult(Schema.toCodecJson(schema as Schema.Codec<unknown, unknown>), {
    onExcessProperty: "error"
  })(body)

const codeOf = (json: unknown): string | null => {
  const envelope = decode(ErrorEnvelope, json)
  if (Result.isSuccess(envelope)) return (envelope.success as ErrorEnvelope).error.code
  const messages = decode(MessagesErrorBody, json)
  if (Result.isFailure(messages)) return null
  const code = (messages.success as MessagesErrorBody).error.details["error_code"]
  return typeof code === "string" ? code : null
}

/** Null: the body is a stream. */
const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | null =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : body._tag === "Empty" ? "" : null

/** The fault of a response. Undefined if it matches. */
export const faultOf = (
  { method, url }: Pick<HttpServerRequest.HttpServerRequest, "method" | "url">,
  response: HttpServerResponse.HttpServerResponse
): string | undefined => {
  // A target may be a whole address. The router uses its path.
  const [path = ""] = url.replace(/^(?:https?:)?\/\/[^/]*/, "").split("?")
  if (pages.test(path)) return undefined
  const { status } = response
  // The answer to a browser's preflight.
  if (method === "OPTIONS" && status === 204) return undefined
  // The answer to a client that probes the server.
  if (method === "HEAD" && (path === "/" || path === "/api/hello") && status === 200) return undefined
  const isJson = response.headers["content-type"]?.startsWith("application/json") === true
  const text = textOf(response)
  const json: unknown = isJson && text !== null ? JSON.parse(text) : undefined
  const code = codeOf(json)
  if (code !== null && ofTheEdge.get(status) === code) return undefined
  const wanted = method === "HEAD" ? "GET" : method
  const endpoint = endpoints.find((each) => each.method === wanted && each.path.test(path))
  if (endpoint === undefined) {
    return code !== null && unrouted.get(status) === code
      ? undefined
      : `${method} ${path} answered ${status} ${code} although it is no endpoint`
  }
  const schemas = endpoint.answers.get(status)
  if (schemas === undefined) return `${endpoint.name} answered ${status} ${code}, which it does not declare: ${text}`
  if (!isJson) return undefined
  const decoded = schemas.map((schema) => decode(schema, json))
  const failure = decoded.every(Result.isFailure) ? decoded[0] : undefined
  return failure === undefined || Result.isSuccess(failure)
    ? undefined
    : `${endpoint.name} answered ${status} with a body that it does not declare: ${String(failure.failure)} ${text}`
}

/** The fault of a piece of a stream: the first event that its endpoint does not declare. */
export const eventFaultOf = (path: string, piece: string): string | undefined => {
  const endpoint = endpoints.find((each) => each.events !== undefined && each.path.test(path))
  if (endpoint?.events === undefined) return `${path} answered a stream, which it does not declare`
  for (const line of piece.split("\n\n")) {
    if (line === "" || line.startsWith(":") || line === "data: [DONE]") continue
    const [, event = "message", data = ""] = /^(?:event: ([\w.]+)\n)?data: (.*)$/s.exec(line) ?? []
    const decoded = decode(endpoint.events, { event, data })
    if (Result.isFailure(decoded)) return `${endpoint.name} streamed ${line}: ${String(decoded.failure)}`
  }
  return undefined
}

/** Wraps an application so that its scope ends in a defect if a response did not match. */
export const onlyDeclared = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.gen(function* () {
    const faults = new Set<string>()
    yield* Effect.addFinalizer(() =>
      faults.size === 0 ? Effect.void : Effect.die(new Error(`undeclared answers:\n${[...faults].join("\n")}`))
    )
    const note = (fault: string | undefined): void => {
      if (fault !== undefined) faults.add(fault)
    }
    return Effect.flatMap(app, (response) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        note(faultOf(request, response))
        const { body } = response
        const isEvents = body._tag === "Stream" && body.contentType.startsWith("text/event-stream")
        if (!isEvents) return response
        const watched = Stream.tap(body.stream, (bytes) =>
          Effect.sync(() => note(eventFaultOf(request.url, new TextDecoder().decode(bytes))))
        )
        return HttpServerResponse.setBody(response, HttpBody.stream(watched, body.contentType))
      })
    )
  })
