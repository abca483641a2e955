/**
 * The name of a request in the prompt cache: a hash over the tenant and every member that changes the answer, whatever the order
 * of members. Left out is only what changes the form of the reply or its book-keeping: `stream`, `stream_options`, `user`, and
 * `metadata` but for the mock provider's directives. A temperature of 1 is the default, and as if it were not there. Members that we
 * do not know are part of the key.
 */
import { hash } from "node:crypto"
import { type ChatRequest } from "../../domain/Chat.ts"

const formOnly = new Set(["stream", "stream_options", "user", "metadata"])

/** JSON that is the same whatever the order of members; members without a value are as if they were not there. */
export const canonical = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  let text = ""
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member === undefined || member === null) continue
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonical(member)}`
  }
  return `{${text}}`
}

/** `tenant`: the key's id or its owner's; two tenants never share an entry. `model` is the full id. */
export const cacheKey = (tenant: string, model: string, request: ChatRequest): string => {
  const members: Record<string, unknown> = { model }
  for (const [name, value] of Object.entries(request)) {
    if (name === "model" || formOnly.has(name) || (name === "temperature" && value === 1)) continue
    members[name] = value
  }
  const mock = request.metadata?.["mock"]
  if (mock !== undefined) members["metadata"] = { mock }
  return hash("sha256", `${tenant}\n${canonical(members)}`, "hex")
}
