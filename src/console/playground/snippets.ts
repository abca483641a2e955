/**
 * A request as code. The key and the gateway's address are environment variables; the secret itself
 * never is in the code. Pictures are shortened.
 */
import { type Members } from "./form.ts"

/** Names the variables, as the first lines of each sample. */
const comment = (sign: string, origin: string): string => `${sign} export TOLLGATE_URL=${origin} TOLLGATE_API_KEY=tg-…`

const SHOWN_CHARACTERS = 40

/** The body with the data of pictures shortened. */
export const shortened = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.startsWith("data:image/") && value.length > SHOWN_CHARACTERS
      ? `${value.slice(0, SHOWN_CHARACTERS)}…`
      : value
  }
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]))
}

/** A JSON value as a Python literal. */
const python = (value: unknown, by = ""): string => {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  const inner = `${by}    `
  if (Array.isArray(value)) {
    return value.length === 0 ? "[]" : `[\n${value.map((one) => inner + python(one, inner)).join(",\n")},\n${by}]`
  }
  if (typeof value === "object") {
    const members = Object.entries(value).map(([name, one]) => `${inner}${JSON.stringify(name)}: ${python(one, inner)}`)
    return members.length === 0 ? "{}" : `{\n${members.join(",\n")},\n${by}}`
  }
  return JSON.stringify(value)
}

export const curlOf = (origin: string, body: Members): string => {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)
  return `${comment("#", origin)}
curl ${body["stream"] === true ? "-N " : ""}"$TOLLGATE_URL/v1/chat/completions" \\
  -H "Authorization: Bearer $TOLLGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`
}

export const typescriptOf = (origin: string, body: Members): string => `${comment("//", origin)}
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: \`\${process.env["TOLLGATE_URL"]}/v1\`,
  apiKey: process.env["TOLLGATE_API_KEY"]
})

const request = ${JSON.stringify(body, null, 2)}
${
  body["stream"] === true
    ? `const stream = await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsStreaming)
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "")`
    : `const completion = await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsNonStreaming)
console.log(completion.choices[0]?.message.content)`
}
`

/** Parameters of the client's own method. The gateway's others go into `extra_body`. */
const known = new Set(
  "model messages temperature max_tokens max_completion_tokens top_p seed stop stream response_format reasoning_effort".split(
    " "
  )
)

export const pythonOf = (origin: string, body: Members): string => {
  const further = Object.entries(body).filter(([name]) => !known.has(name))
  const parameters = [
    ...Object.entries(body)
      .filter(([name]) => known.has(name))
      .map(([name, value]) => `    ${name}=${python(value, "    ")},`),
    ...(further.length === 0 ? [] : [`    extra_body=${python(Object.fromEntries(further), "    ")},`])
  ].join("\n")
  return `${comment("#", origin)}
import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["TOLLGATE_URL"] + "/v1", api_key=os.environ["TOLLGATE_API_KEY"])

${
  body["stream"] === true
    ? `for chunk in client.chat.completions.create(
${parameters}
):
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
    : `completion = client.chat.completions.create(
${parameters}
)
print(completion.choices[0].message.content)`
}
`
}
