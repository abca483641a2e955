/**
 * The values that the guard sends unsearched of requests in the form of their own API, as
 * KeptPlaces.ts lists those of chat requests.
 */
import { type NativeDialect } from "../../domain/Native.ts"
import { type Places } from "./KeptPlaces.ts"

const block = "messages[].content[]"

const anthropic: Places = {
  kept: [
    {
      form: "any",
      paths: ["model", "models", "provider", "messages[].role"],
      why: "they choose the model, the route and the role"
    },
    {
      form: "word",
      paths: [
        `${block}.type`,
        `${block}.source.type`,
        `${block}.cache_control.type`,
        "system[].type",
        "tools[].type",
        "tool_choice.type",
        "thinking.type",
        "output_config.format.type",
        "context_management.edits[].type"
      ],
      why: "words of the protocol; a provider accepts no others"
    },
    {
      form: "id",
      paths: [
        `${block}.id`,
        `${block}.tool_use_id`,
        `${block}.file_id`,
        `${block}.source.file_id`,
        "fallbacks[]",
        "fallbacks[].model",
        "container",
        "container.id",
        "mcp_servers[].authorization_token"
      ],
      why: "a provider made them or compares them: a result must name its call"
    },
    { form: "bytes", paths: [`${block}.source.data`], why: "images and files are not text" },
    {
      form: "bytes",
      paths: [
        `${block}.signature`,
        `${block}.data`,
        `${block}.encrypted_content`,
        `${block}.encrypted_index`,
        `${block}.citations[].encrypted_index`
      ],
      why: "signatures and encrypted reasoning are checked byte by byte by the provider that made them"
    },
    {
      form: "signed",
      paths: [`${block}.thinking`],
      why: "a signature is of these very bytes. The model wrote them, and saw placeholders alone"
    },
    {
      form: "number",
      paths: ["max_tokens", "temperature", "top_p", "top_k", "thinking.budget_tokens"],
      why: "numeric parameters of the protocol"
    },
    {
      form: "bounds",
      paths: ["tools[].input_schema", "output_config.format.schema"],
      why: "lengths and ranges in a schema; its texts and values are searched"
    }
  ],
  toolNames: ["tools[].name", "tool_choice.name", `${block}.name`],
  json: [],
  likelyJson: [`${block}.content`],
  part: block
}

const item = "input[]"

const responses: Places = {
  kept: [
    { form: "any", paths: ["model", "models", "provider", `${item}.role`], why: "they choose the model and the role" },
    {
      form: "word",
      paths: [`${item}.type`, `${item}.content[].type`, "tools[].type", "tool_choice.type", "text.format.type"],
      why: "words of the protocol; a provider accepts no others"
    },
    {
      form: "id",
      paths: [`${item}.id`, `${item}.call_id`, `${item}.content[].file_id`, `${item}.output[].file_id`],
      why: "a provider made them or compares them: a result must name its call"
    },
    {
      form: "bytes",
      paths: [
        `${item}.content[].image_url`,
        `${item}.content[].file_data`,
        `${item}.output[].image_url`,
        `${item}.output[].file_data`
      ],
      why: "images and files are not text"
    },
    {
      form: "bytes",
      paths: [`${item}.encrypted_content`],
      why: "encrypted reasoning is checked byte by byte by the provider that made it"
    },
    {
      form: "number",
      paths: ["max_output_tokens", "temperature", "top_p", "top_logprobs"],
      why: "numeric parameters of the protocol"
    },
    {
      form: "bounds",
      paths: ["tools[].parameters", "text.format.schema"],
      why: "lengths and ranges in a schema; its texts and values are searched"
    }
  ],
  toolNames: ["tools[].name", "tools[].tools[].name", "tool_choice.name", `${item}.name`],
  json: [`${item}.arguments`],
  likelyJson: [`${item}.output`, `${item}.input`],
  part: null
}

export const nativePlaces: Readonly<Record<NativeDialect, Places>> = { anthropic, responses }
