/** A gateway whose first provider speaks the client's own API, for tests of the native lanes. */
import { Effect } from "effect"
import { behind, type Member } from "../faults/gateway.ts"

type Members = Readonly<Record<string, unknown>>

/**
 * `native`: what makes the provider `alpha` speak the API. `send` posts to `path`: `request` with
 * the members that are given.
 */
export const nativeGateway =
  (
    upstream: () => Parameters<typeof behind>[0],
    { native, path, request }: { readonly native: Partial<Member>; readonly path: string; readonly request: Members }
  ) =>
  (alpha: Partial<Member> & Pick<Member, "does">, others: Readonly<Record<string, Member>> = {}, settings = {}) =>
    Effect.map(
      behind(upstream(), { alpha: { ...native, ...alpha }, ...others }, "enterprise", settings),
      (gateway) => ({
        ...gateway,
        send: (body: Members, more: { readonly headers?: Record<string, string>; readonly key?: string } = {}) =>
          gateway.app.send(path, {
            body: { model: "test/small", ...request, ...body },
            key: more.key ?? gateway.key,
            headers: more.headers ?? {}
          })
      })
    )
