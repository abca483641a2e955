/** One random call of an operation: address, credential and body according to the document. */
import { type Operation } from "./document.ts"
import { type Random } from "./random.ts"
import { hostileText, valueOf } from "./values.ts"

/**
 * Credentials and identifiers that calls may invalidate. The run itself does not depend on them.
 */
export interface Victims {
  readonly apiKeys: ReadonlyArray<string>
  readonly sessions: ReadonlyArray<string>
  readonly adminKey: string
  /** Identifiers by the name of the path parameter, collected from responses. */
  readonly ids: Map<string, Array<string>>
}

export interface Call {
  readonly operation: Operation
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** True if the mock provider was told to fail. */
  readonly isRehearsal: boolean
}

const wildnesses = [0, 0, 0.02, 0.1, 0.4]

/** Text that `fetch` accepts as a header's value. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]/g, "").slice(0, 300)

const credential = (random: Random, { schemes }: Operation, victims: Victims): Record<string, string> => {
  if (random.chance(0.04)) return {}
  if (random.chance(0.03)) return { authorization: headerText(`Bearer ${hostileText(random)}`) }
  if (schemes.includes("adminKey") && random.chance(0.8)) return { "x-admin-key": victims.adminKey }
  if (schemes.includes("session")) return { authorization: `Bearer ${random.pick(victims.sessions)}` }
  if (schemes.includes("apiKey")) {
    const key = random.pick(victims.apiKeys)
    return random.chance(0.5) ? { authorization: `Bearer ${key}` } : { "x-api-key": key }
  }
  return {}
}

/** Changes a model request so that it probably reaches a provider. */
const likely = (random: Random, operation: Operation, body: unknown): unknown => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body
  const members = { ...(body as Record<string, unknown>) }
  const metadata = members["metadata"]
  if (typeof metadata === "object" && metadata !== null) delete (metadata as Record<string, unknown>)["mock"]
  if (random.chance(0.1)) return members
  if (operation.name.startsWith("chat")) {
    members["model"] = random.pick(["mock/echo", "mock/lorem", "echo"])
    if (random.chance(0.5)) delete members["provider"]
    if (random.chance(0.5)) members["messages"] = [{ role: "user", content: hostileText(random) || "hi" }]
    if (random.chance(0.1)) {
      const mock = {
        fail: random.pick(["429", "500", "cut", "malformed"]),
        after_tokens: random.below(4),
        latency_ms: 20
      }
      members["metadata"] = { mock }
    }
  }
  if (operation.name.startsWith("embeddings")) members["model"] = "mock/embed"
  return members
}

export const makeCall = (random: Random, operation: Operation, victims: Victims): Call => {
  const wildness = random.pick(wildnesses)
  const headers: Record<string, string> = credential(random, operation, victims)
  const query = new URLSearchParams()
  let path = operation.path
  for (const { in: place, name, schema } of operation.parameters) {
    const value = String(valueOf(random, schema, wildness)).slice(0, random.chance(0.01) ? 5_000 : 300)
    if (place === "path") {
      const known = victims.ids.get(name) ?? []
      const segment = known.length > 0 && random.chance(0.7) ? random.pick(known) : value || "x"
      path = path.replace(`{${name}}`, random.chance(0.02) ? "%00" : encodeURIComponent(segment.toWellFormed()))
    } else if (random.chance(0.5)) {
      if (place === "query") query.append(name, value)
      else if (place === "header") headers[name] = headerText(value)
    }
  }
  if (random.chance(wildness)) query.append(hostileText(random).toWellFormed(), hostileText(random).toWellFormed())
  if (operation.parameters.some(({ name }) => name === "channel")) path = path.replace("{channel}", "email")

  let body: string | null = null
  if (operation.body !== null) {
    const value = likely(random, operation, valueOf(random, operation.body, wildness))
    body = JSON.stringify(value)
    if (random.chance(wildness / 4)) body = body.slice(0, random.below(body.length))
    headers["content-type"] = "application/json"
  }
  if (random.chance(0.1)) headers["cache-control"] = random.pick(["no-cache", "no-store", "max-age=60", "junk"])
  if (random.chance(0.05)) headers["x-tollgate-timeout-ms"] = random.pick(["1", "50", "5000", "-1", "x"])
  const search = query.size === 0 ? "" : `?${query.toString()}`
  return { operation, path: path + search, headers, body, isRehearsal: body?.includes(`"mock":{`) === true }
}
