/** `tollgate keys`, `users`, `providers`, `audit` and `usage`, against a gateway. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { eventually, promptMarker } from "../support/Gateway.ts"
import { line } from "./line.ts"
import { CliGateway, spoken } from "./served.ts"

const field = (name: string, text: string): string => new RegExp(`^${name} +(.+)$`, "m").exec(text)?.[1] ?? ""
const parsed = (text: string) => JSON.parse(text) as Readonly<Record<string, unknown>>

layer(CliGateway.layer, { excludeTestServices: true, timeout: 120_000 })("administration on the command line", (it) => {
  it.effect("changes, disables and enables keys by their names", () =>
    Effect.gen(function* () {
      yield* spoken(["keys", "create", "ci", "--budget", "5", "--expires", "30d"])
      yield* spoken(["keys", "create", "twin"])
      yield* spoken(["keys", "create", "twin"])
      const edited = yield* spoken([
        "keys",
        "edit",
        "CI",
        "--name",
        "build",
        "--budget",
        "none",
        "--tier",
        "pro",
        "--expires",
        "never"
      ])
      assert.strictEqual(field("name", edited.stdout), "build")
      assert.strictEqual(field("spent", edited.stdout), "$0.00 this month, no cap")
      assert.strictEqual(field("expires", edited.stdout), "")
      const models = yield* spoken(["keys", "edit", "build", "--model", "acme/*", "--scope", "chat:write"])
      assert.deepStrictEqual([field("models", models.stdout), field("scopes", models.stdout)], ["acme/*", "chat:write"])
      assert.strictEqual(field("models", (yield* spoken(["keys", "edit", "build", "--any-model"])).stdout), "all")

      const off = yield* spoken(["keys", "disable", "build", "walker"])
      assert.match(off.stdout, /^key_\w+ \(build\) is disabled\.\nkey_\w+ \(walker\) is disabled\.\n$/)
      assert.strictEqual((yield* spoken(["chat", "-m", "acme/small", promptMarker])).code, 1)
      const on = yield* spoken(["keys", "enable", "build", "walker", "--json"])
      assert.deepInclude(parsed(on.stdout), { object: "list" })
      assert.strictEqual(field("status", (yield* spoken(["keys", "show", "walker"])).stdout), "active")

      const twins = yield* spoken(["keys", "revoke", "twin"])
      assert.deepStrictEqual([twins.code, twins.stdout], [1, ""])
      assert.match(
        twins.stderr,
        /"twin" stands for 2 keys: key_\w+ \(twin\), key_\w+ \(twin\)\.\n {2}Write more of the id\./
      )
      const none = yield* spoken(["keys", "disable", "build", "biuld"])
      assert.match(none.stderr, /There is no key "biuld"\.\n {2}Did you mean "build"\?/)
      assert.strictEqual(field("status", (yield* spoken(["keys", "show", "build"])).stdout), "active")
      for (const args of [["--budget", "much"], ["--expires", "soon"], [], ["--any-model", "--model", "acme/small"]]) {
        const wrong = yield* spoken(["keys", "edit", "build", ...args])
        assert.deepStrictEqual([wrong.code, wrong.stdout], [2, ""], args.join(" "))
      }
    })
  )

  it.effect("lists keys by search, status and order, and says how many there are", () =>
    Effect.gen(function* () {
      for (const name of ["list-b", "list-a", "list-c"]) yield* spoken(["keys", "create", name])
      yield* spoken(["keys", "disable", "list-c"])
      const sorted = yield* spoken(["keys", "list", "--search", "list-", "--sort", "name", "--limit", "2"])
      assert.match(sorted.stdout, /^ID .*NAME\n.* list-a\n.* list-b\n2 of 3 keys\.\n$/)
      const live = yield* spoken(["keys", "list", "--search", "list-", "--status", "disabled", "--json"])
      assert.deepInclude(parsed(live.stdout), { total: 1, has_more: false })
    })
  )

  it.effect("finds, changes and suspends users by their addresses", () =>
    Effect.gen(function* () {
      const email = "ada@example.com"
      yield* spoken(["admin", "grant", email])
      assert.match(
        (yield* spoken(["users", "list", "--search", "example"])).stdout,
        /\n\S+ +ada@example\.com +admin +active/
      )
      const edited = yield* spoken(["users", "edit", email, "--role", "user", "--tier", "pro", "--budget", "12.5"])
      assert.deepStrictEqual([field("role", edited.stdout), field("budget", edited.stdout)], ["user", "$12.50"])
      const id = field("id", edited.stdout)
      assert.match((yield* spoken(["users", "suspend", email])).stdout, /is suspended\.\n$/)
      assert.strictEqual(field("status", (yield* spoken(["users", "show", id.slice(0, 30)])).stdout), "suspended")
      assert.match((yield* spoken(["users", "reactivate", id])).stdout, /is active\.\n$/)
      const typo = yield* spoken(["users", "show", "ada@exmaple.com"])
      assert.match(typo.stderr, /There is no user "ada@exmaple\.com"\.\n {2}Did you mean "ada@example\.com"\?/)
      const events = yield* spoken(["audit", "--action", "user.change", "--target", id])
      assert.match(events.stdout, /^TIME \(UTC\) .*\n(?:.* user\.change +done +admin_key +ada@example\.com .*\n){3}$/)
      const csv = yield* spoken(["audit", "--csv", "--limit", "1"])
      assert.isAbove(csv.stdout.trimEnd().split("\n").length, 3)
    })
  )

  it.effect("shows how providers do, and why", () =>
    Effect.gen(function* () {
      yield* spoken(["chat", "-m", "acme/small", promptMarker])
      const { stdout } = yield* spoken(["providers"])
      assert.match(stdout, /^PROVIDER +STATUS +SINCE .*\nfast +ok .*\ndown +\w+ /)
      const one = yield* spoken(["providers", "fast"])
      assert.match(one.stdout, /\nacme\/small +closed +/)
      const typo = yield* spoken(["providers", "fats"])
      assert.match(typo.stderr, /There is no provider "fats"\.\n {2}Did you mean "fast"\?/)
    })
  )

  it.effect("lists webhooks, and refuses to send what there is not", () =>
    Effect.gen(function* () {
      const { stdout } = yield* spoken(["webhooks", "list"])
      assert.match(stdout, /^WEBHOOK +WAITING .*\nhttp:\/\/127\.0\.0\.1:9\/hook +\d/)
      const none = yield* spoken(["webhooks", "dead-letters"])
      assert.strictEqual(none.stdout, "There are no undelivered events.\n")
      assert.strictEqual((yield* spoken(["webhooks", "retry", "--all"])).stdout, "0 events are sent again.\n")
      assert.strictEqual((yield* spoken(["webhooks", "retry"])).code, 2)
      const unknown = yield* spoken(["webhooks", "retry", "dlv_00000000"])
      assert.deepStrictEqual([unknown.code, unknown.stdout], [1, ""])
    })
  )

  it.effect("sends an undelivered event again, by its id as a table cut it", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const letter = (id: string) => ({
        id: `dlv_${id.repeat(32)}`,
        event_id: "evt_1",
        type: "key.created",
        url: "http://127.0.0.1:9/hook",
        body: "{}",
        attempts: 8,
        last_error: "status 500",
        created_at: "2026-11-22T08:00:00.000Z",
        failed_at: "2026-11-22T09:00:00.000Z",
        retried_at: null
      })
      const list = { object: "list", data: [letter("a"), letter("b")], has_more: false, next_cursor: null }
      const server = createServer((request, response) => {
        sent.push(`${request.method ?? ""} ${request.url ?? ""}`)
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify(request.method === "GET" ? list : letter("b")))
      })
      const url = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<string>((resolve) => {
              server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
            })
        ),
        () => Effect.sync(() => void server.close())
      )
      const at = (args: ReadonlyArray<string>) => line(["webhooks", ...args, "--url", url, "--admin-key", "tga-x"])
      assert.match(
        (yield* at(["dead-letters"])).stdout,
        /\n2026-11-22 09:00 +key\.created +http:\S+ +8 +status 500 +- +dlv_a+\n/
      )
      const retried = yield* at(["retry", "dlv_bbbb…bbbbb"])
      assert.match(retried.stdout, /^dlv_b+ \(key\.created\) is sent again to http:\/\/127\.0\.0\.1:9\/hook\.\n$/)
      assert.strictEqual(sent.at(-1), `POST /v1/admin/webhooks/dead-letters/${letter("b").id}/retry`)
      assert.strictEqual((yield* at(["retry", "dlv_"])).code, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("names the keys of a report", () =>
    Effect.gen(function* () {
      yield* spoken(["chat", "-m", "acme/small", promptMarker])
      const isNamed = (args: ReadonlyArray<string>) =>
        eventually(
          Effect.flatMap(spoken(["usage", "--by", "key", ...args]), ({ stdout }) =>
            /^walker +[1-9]/m.test(stdout) ? Effect.void : Effect.fail(stdout)
          ),
          20_000,
          "usage by key"
        )
      yield* isNamed(["--all", "--from", "1d"])
      yield* isNamed([])
    })
  )
})
