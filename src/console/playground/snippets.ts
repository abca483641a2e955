/** A request as code. The key is an environment variable, never the secret itself. */

type Members = Readonly<Record<string, unknown>>

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
  return `curl ${body["stream"] === true ? "-N " : ""}${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`
}

export const typescriptOf = (origin: string, body: Members): string => `import OpenAI from "openai"

const client = new OpenAI({ baseURL: "${origin}/v1", apiKey: process.env["TOLLGATE_KEY"] })

const request = ${JSON.stringify(body, null, 2)}
${
  body["stream"] === true
    ? `const stream = await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsStreaming)
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "")`
    : `const completion = await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsNonStreaming)
console.log(completion.choices[0]?.message.content)`
}
`

export const pythonOf = (origin: string, body: Members): string => {
  const { provider, ...known } = body
  const parameters = [
    ...Object.entries(known).map(([name, value]) => `    ${name}=${python(value, "    ")},`),
    ...(provider === undefined ? [] : [`    extra_body={"provider": ${python(provider, "    ")}},`])
  ].join("\n")
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["TOLLGATE_KEY"])

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
