/**
 * The documentation as Markdown: `/llms.txt` lists its pages for programs that read them, and
 * `/docs/PAGE.md` is a page. Both come from the folder docs as it is.
 */
import { Effect, FileSystem } from "effect"
import {
  HttpMiddleware,
  HttpPlatform,
  HttpRouter,
  HttpServerRequest,
  HttpServerResponse,
  HttpStaticServer
} from "effect/http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gatewayError, NotFound } from "../../domain/Errors.ts"
import { guard } from "../errors/ErrorResponse.ts"

const folder = fileURLToPath(new URL("../../../docs", import.meta.url))

const heading = `# tollgate

> One HTTP API in front of every language-model provider. It speaks OpenAI's chat completions,
> Responses and embeddings and Anthropic's Messages, checks keys, limits and budgets, routes with
> fallback, and keeps a receipt for every generation.

The schemas of all endpoints are in [openapi.json](/openapi.json).
`

/** The index of the documentation, with links from the root. Its first lines are for people. */
const indexOf = (readme: string): string => {
  const [, ...sections] = readme.split(/^(?=## )/m)
  return `${heading}\n${sections.join("").replaceAll(/\]\((?!https?:|\.\.)([^)]+)\)/g, "](/docs/$1)")}`
}

const missing = (path: string) => guard(Effect.fail(gatewayError(new NotFound({ what: "route", id: `GET ${path}` }))))

/** Adds the routes. */
export const serveDocuments = Effect.gen(function* () {
  const router = yield* HttpRouter.HttpRouter
  const platform = yield* HttpPlatform.HttpPlatform
  const files = yield* FileSystem.FileSystem
  const pages = yield* HttpStaticServer.make({ root: folder, index: undefined, cacheControl: "no-cache" })
  const zipped = HttpMiddleware.compression()
  const index = yield* Effect.cached(Effect.map(files.readFileString(join(folder, "README.md")), indexOf))
  yield* router.add(
    "GET",
    "/llms.txt",
    Effect.matchEffect(index, {
      onSuccess: (text) => Effect.succeed(HttpServerResponse.text(text, { headers: { "cache-control": "no-cache" } })),
      onFailure: () => missing("/llms.txt")
    }).pipe(zipped, Effect.provideService(HttpPlatform.HttpPlatform, platform))
  )
  const page = Effect.updateService(pages, HttpServerRequest.HttpServerRequest, (request) =>
    request.modify({ url: request.url.replace(/^\/docs/, "") })
  ).pipe(
    Effect.catch(() => Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => missing(url))),
    zipped,
    Effect.provideService(HttpPlatform.HttpPlatform, platform)
  )
  yield* router.add("GET", "/docs/:file", page)
  yield* router.add("GET", "/docs/:folder/:file", page)
  yield* router.add(
    "GET",
    "/",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      /\btext\/html\b/.test(headers["accept"] ?? "")
        ? HttpServerResponse.redirect("/console", { headers: { vary: "accept" } })
        : HttpServerResponse.jsonUnsafe(places, { headers: { vary: "accept" } })
    )
  )
}).pipe(Effect.orDie)

/** What a program that asks for `/` is told. A browser is led to the console. */
const places = { name: "tollgate", docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", console: "/console" }
