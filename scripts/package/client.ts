/**
 * Bundles the client of the built package into one module beside its types. The contract also
 * documents the API and checks requests, and the gateway does both: those parts are left out here.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ObjectExpression, parseSync, Visitor } from "oxc-parser"
import { build, type Plugin } from "vite"

/** Members of an endpoint that say what it accepts, and its errors, which share one form. */
const ofTheServer = new Set(["payload", "query", "params", "headers", "error"])
const documented = new Set(["description"])

/**
 * Functions without effects, which a bundler cannot know: what nobody uses of their results goes.
 */
const pure =
  "Context HttpApiEndpoint HttpApiGroup HttpApiMiddleware HttpApiSchema HttpApiSecurity OpenApi Option Schema SchemaIssue SchemaTransformation"

/** `code` of the contract without requests, errors and descriptions. */
export const withoutServerParts = (path: string, code: string): string => {
  const cuts: Array<readonly [from: number, to: number]> = []
  const cutMembers = ({ properties }: ObjectExpression, names: ReadonlySet<string>) => {
    for (const [index, property] of properties.entries()) {
      if (property.type !== "Property" || property.key.type !== "Identifier" || !names.has(property.key.name)) continue
      cuts.push([property.start, properties[index + 1]?.start ?? property.end])
    }
  }
  new Visitor({
    CallExpression({ arguments: given, callee, end }) {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return
      const { name } = callee.property
      const options = given.at(-1)
      if (callee.object.type === "Identifier" && callee.object.name === "HttpApiEndpoint") {
        if (options?.type === "ObjectExpression") cutMembers(options, ofTheServer)
      } else if (name === "annotate" && options?.type === "ObjectExpression") cutMembers(options, documented)
      else if (name === "annotateMerge") cuts.push([callee.object.end, end])
    }
  }).visit(parseSync(path, code).program)
  let kept = ""
  let at = 0
  for (const [from, to] of cuts.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    // Inside of what is already cut.
    if (from < at) continue
    kept += code.slice(at, from)
    at = to
  }
  return kept + code.slice(at)
}

const contractOfClients: Plugin = {
  name: "contract-of-clients",
  transform: (code, id) => (/\/src\/(?:api|domain)\//.test(id) ? withoutServerParts(id, code) : undefined)
}

/** `sources`: the folder of the compiled src. */
export const bundleClient = async (sources: string): Promise<void> => {
  const file = join(sources, "client/Client.js")
  const built = await build({
    configFile: false,
    root: sources,
    logLevel: "error",
    plugins: [contractOfClients],
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry: file, formats: ["es"] },
      rolldownOptions: {
        external: /^effect(?:\/|$)/,
        treeshake: { moduleSideEffects: false, manualPureFunctions: pure.split(" ") }
      }
    }
  })
  const [first] = Array.isArray(built) ? built : []
  if (first === undefined) throw new Error("the client was not built")
  writeFileSync(file, first.output[0].code)
}
