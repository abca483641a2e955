/**
 * Every path with its methods: for the 405, for the name of a request's span, and for the hint of a
 * 404.
 */
import { Api } from "../../api/Api.ts"
import { nearest } from "../../domain/Nearest.ts"

/** The endpoints of the API, and the pages. */
const routes = [
  ...Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints)),
  ...[
    "/",
    "/llms.txt",
    "/docs",
    "/docs/:file",
    "/docs/:folder/:file",
    "/openapi.json",
    "/console",
    "/console/:file"
  ].map((path) => ({ method: "GET", path }))
].map(({ method, path }) => ({ method, path, form: new RegExp(`^${path.replaceAll(/:[^/]+/g, "[^/]+")}/?$`) }))

const fixedRoutes = routes.filter(({ path }) => !path.includes(":"))

/** The declared path of a request's route, or null. */
export const routeOf = (method: string, path: string): string | null =>
  routes.find((route) => route.method === method && route.form.test(path))?.path ?? null

/** The methods of a path. */
export const methodsOf = (path: string): ReadonlyArray<string> => [
  ...new Set(routes.filter(({ form }) => form.test(path)).map(({ method }) => method))
]

/**
 * The path that a client perhaps meant, or null: a base URL without `/v1`, with it twice or with
 * `/api` before it, a doubled slash, a typing mistake in a path that takes the method.
 */
export const pathMeant = (method: string, path: string): string | null => {
  const plain = path.replaceAll(/\/{2,}/g, "/").replace(/^\/api(?=\/)/, "")
  const once = plain.replace(/^(?:\/v1)+(?=\/)/, "")
  const written = [plain, `/v1${once}`].find((form) => methodsOf(form).length > 0)
  if (written !== undefined) return written
  return nearest(
    path,
    fixedRoutes.filter((route) => route.method === method).map((route) => route.path)
  )
}
