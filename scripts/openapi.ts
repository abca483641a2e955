/**
 * Writes the API's OpenAPI document to openapi.json. With `--check` it only compares. The document
 * is generated from the schemas that the server validates with.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { OpenApi } from "effect/http-api"
import { DocumentedApi } from "../src/api/document/Document.ts"

const file = new URL("../openapi.json", import.meta.url)
const text = `${JSON.stringify(OpenApi.fromApi(DocumentedApi), null, 2)}\n`

if (!process.argv.includes("--check")) writeFileSync(file, text)
else if (readFileSync(file, "utf8") !== text) {
  console.error("openapi.json is not what the API says: run `npm run openapi` and commit the result")
  process.exitCode = 1
}
