/**
 * Calls of the gateway. A call either answers what the endpoint's schema says, or throws a `Failure` with the gateway's own words.
 * Credentials travel in headers only. Where a session has ended, the console returns to its first page.
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

  /** This gateway has no such endpoint: an older one, or one with the feature switched off. */
  get isMissing(): boolean {
    return this.status === 405 || (this.status === 404 && this.body.code === "route_not_found")
  }

  /** What is wrong with a member of the body, if anything is. */
  faultOf(member: string): string | undefined {
    if (this.body.param === member) return this.message
    return this.detail.find(({ loc }) => loc[1] === member)?.msg
  }
}

export interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** An API key to call with, in place of the session's credential. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** By the refresh cookie: a refusal is the answer, and no reason to renew anything. */
  readonly isSignIn?: boolean
}

const credential = (key: string | undefined): Readonly<Record<string, string>> => {
  if (key !== undefined) return { authorization: `Bearer ${key}` }
  const current = session.get()
  if (current.kind === "admin") return { "x-admin-key": current.key }
  return current.kind === "user" ? { authorization: `Bearer ${current.accessToken}` } : {}
}

/** The answer itself, whatever its status. Throws a `Failure` of status 0 when there is none. */
export const send = async (path: string, { body, headers, key, method, signal }: Call = {}): Promise<Response> => {
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      credentials: "same-origin",
      cache: "no-store",
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

/** How a session that has run out is renewed; sign-in puts it in place. Answers whether it was. */
export const renewal: { renew: () => Promise<boolean> } = { renew: () => Promise.resolve(false) }

export const call = async <A>(path: string, options: Call = {}): Promise<A> => {
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
      leave(kind === "admin" ? "That admin key does not open this gateway." : "The session has ended. Sign in again.")
    }
  }
  if (!response.ok) throw await failureOf(response)
  return (await response.json()) as A
}

/** `path` with those of the members that are set, as a query. */
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
