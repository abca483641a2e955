/**
 * Calls of the gateway. A call returns the endpoint's response or throws a `Failure` with the
 * gateway's message. Credentials are sent in headers only. When the session has ended, the console
 * returns to the sign-in page.
 */
import { type ErrorBody, type HTTPValidationError } from "../api/Failure.ts"
import { leave, session } from "./session.ts"

export class Failure extends Error {
  readonly status: number
  readonly body: Partial<ErrorBody>
  readonly detail: HTTPValidationError["detail"]

  constructor(status: number, body: Partial<ErrorBody>, detail: HTTPValidationError["detail"] = []) {
    super(body.message ?? `The gateway answered ${status}.`)
    this.status = status
    this.body = body
    this.detail = detail
  }

  /** True if this gateway lacks the endpoint, because it is older or the feature is disabled. */
  get isMissing(): boolean {
    return this.status === 405 || (this.status === 404 && this.body.code === "route_not_found")
  }

  readonly #atFields = new Set<string>()

  /** The fault of a member of the body, if any. Its field shows it, and the form not again. */
  faultOf(member: string): string | undefined {
    const fault = this.body.param === member ? this.message : this.detail.find(({ loc }) => loc[1] === member)?.msg
    if (fault !== undefined) this.#atFields.add(member)
    return fault
  }

  /** What no field shows. */
  get rest(): string | undefined {
    const { param } = this.body
    const isShown = (member: unknown): boolean => typeof member === "string" && this.#atFields.has(member)
    const others = this.detail.filter(({ loc }) => !isShown(loc[1]))
    if (this.detail.length > 0 && others.length < this.detail.length) {
      return others.length === 0 ? undefined : others.map(({ msg }) => msg).join(" ")
    }
    return isShown(param) ? undefined : this.message
  }
}

export interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** An API key that replaces the session's credential. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Arrives even if the page is left meanwhile. */
  readonly keepalive?: boolean
  /** Authenticated by the refresh cookie: a 401 is final and starts no renewal. */
  readonly isSignIn?: boolean
}

const credential = (key: string | undefined): Readonly<Record<string, string>> => {
  if (key !== undefined) return { authorization: `Bearer ${key}` }
  const current = session.get()
  if (current.kind === "admin") return { "x-admin-key": current.key }
  return current.kind === "user" ? { authorization: `Bearer ${current.accessToken}` } : {}
}

/** The response, whatever its status. Throws a `Failure` with status 0 if there is none. */
export const send = async (
  path: string,
  { body, headers, keepalive = false, key, method, signal }: Call = {}
): Promise<Response> => {
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      credentials: "same-origin",
      cache: "no-store",
      keepalive,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...credential(key),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal })
    })
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    throw new Failure(0, { type: "unreachable", message: "The gateway does not answer.", retryable: true })
  }
}

export const failureOf = async (response: Response): Promise<Failure> => {
  const text = await response.text()
  try {
    const { detail, error } = JSON.parse(text) as Partial<HTTPValidationError>
    return new Failure(response.status, error ?? {}, detail ?? [])
  } catch {
    return new Failure(response.status, {})
  }
}

/** Renews an expired session. Set by the sign-in module. Resolves to whether it succeeded. */
export const renewal: { renew: () => Promise<boolean> } = { renew: () => Promise.resolve(false) }

/** The successful response, with the session renewed where it had expired. */
const answer = async (path: string, options: Call = {}): Promise<Response> => {
  let response = await send(path, options)
  if (
    response.status === 401 &&
    options.key === undefined &&
    options.isSignIn !== true &&
    session.get().kind !== "none"
  ) {
    const { kind } = session.get()
    if (kind === "user" && (await renewal.renew())) response = await send(path, options)
    if (response.status === 401) {
      leave(kind === "admin" ? "This is not the admin key of this gateway." : "The session has ended. Sign in again.")
    }
  }
  if (!response.ok) throw await failureOf(response)
  return response
}

export const call = async <A>(path: string, options: Call = {}): Promise<A> =>
  (await (await answer(path, options)).json()) as A

/**
 * A response of any size as a file, which the browser may keep on disk. `onBytes` is told how much
 * has arrived.
 */
export const fetchFile = async (path: string, onBytes: (bytes: number) => void): Promise<Blob> => {
  const response = await answer(path)
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      onBytes((bytes += chunk.length))
      controller.enqueue(chunk)
    }
  })
  try {
    return await new Response(response.body?.pipeThrough(counter)).blob()
  } catch {
    throw new Failure(0, { type: "unreachable", message: "The download broke off.", retryable: true })
  }
}

/** `path` with the members that are set, as a query. */
export const withQuery = (
  path: string,
  members: Readonly<Record<string, string | number | null | undefined>>
): string => {
  const query = new URLSearchParams(
    Object.entries(members).flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]]
    )
  )
  return query.size === 0 ? path : `${path}?${query}`
}

export const asFailure = (thrown: unknown): Failure =>
  thrown instanceof Failure
    ? thrown
    : new Failure(0, { type: "console", message: thrown instanceof Error ? thrown.message : String(thrown) })
