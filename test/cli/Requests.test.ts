/** `tollgate generations`, `receipt` and `logs`, against a gateway in another process. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { eventually, promptMarker } from "../support/Gateway.ts"
import { line } from "./line.ts"
import { CliGateway, spoken } from "./served.ts"

interface List {
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly has_more: boolean
}
const listOf = (text: string) => JSON.parse(text) as List

/** Asks once, and gives the generation's id. */
const asked = (model = "acme/small") =>
  Effect.map(spoken(["chat", "-m", model, promptMarker]), ({ stderr }) => /gen_[0-9a-f]{32}/.exec(stderr)?.[0] ?? "")

/** The list as JSON once it has such a row: refusals are recorded a moment later. */
const listed = (args: ReadonlyArray<string>, isThere: (list: List) => boolean) =>
  eventually(
    Effect.flatMap(spoken(["generations", "--json", ...args]), ({ stderr, stdout }) => {
      const list = stdout === "" ? null : listOf(stdout)
      return list !== null && isThere(list) ? Effect.succeed(list) : Effect.fail(stdout + stderr)
    }),
    20_000,
    args.join(" ")
  )

layer(CliGateway.layer, { excludeTestServices: true, timeout: 120_000 })("requests on the command line", (it) => {
  it.effect("are listed with names, as a table, as the API's JSON and as CSV", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* CliGateway
      const id = yield* asked()
      const { stdout } = yield* spoken(["generations", "--limit", "1"])
      assert.match(stdout, /^TIME \(UTC\) +STATUS +MODEL +PROVIDER +KEY +USER .*\n/)
      assert.match(
        stdout,
        /\d\d:\d\d:\d\d +200 +acme\/small +fast +walker +- +14 \+ 8 .* ms +fallback +gen_[0-9a-f]{32}$/m
      )
      const json = yield* spoken(["generations", "--limit", "1", "--json"])
      const { text } = yield* gateway.send("/v1/admin/requests?limit=1", {
        headers: { "x-admin-key": gateway.adminKey }
      })
      assert.deepStrictEqual(JSON.parse(json.stdout), JSON.parse(text))
      assert.include((yield* spoken(["generations", "--csv"])).stdout, `\ngeneration,${id},req_`)
      assert.match((yield* spoken(["generations", "--csv", "--json"])).stderr, /exclude each other/)

      const own = yield* line(["generations", "--url", gateway.url, "--key", key, "--model", "acme/small"])
      assert.include(own.stdout, id)
      const denied = yield* line(["generations", "--url", gateway.url, "--key", key, "--status", "200"])
      assert.deepStrictEqual([denied.code, denied.stdout], [2, ""])
      assert.match(denied.stderr, /by --from, --to and --model; not by status\.\n {2}Set --admin-key/)
    })
  )

  it.effect("are found by filters, names and refusals, and page on", () =>
    Effect.gen(function* () {
      const wrong = yield* spoken(["chat", "-m", "acme/smal", promptMarker])
      assert.deepStrictEqual([wrong.code, wrong.stdout], [1, ""])
      assert.match(wrong.stderr, /Did you mean 'acme\/small'\?\n {2}Similar models: acme\/small, acme\/lorem\. /)
      assert.notInclude(wrong.stderr, "GET /v1")
      const refusals = yield* listed(["--end", "refused"], ({ data }) => data.length > 0)
      assert.deepInclude(refusals.data[0], { object: "refusal", status: 404, error_type: "model_not_found" })

      const lorem = yield* asked("acme/lorem")
      for (const args of [
        ["--q", lorem],
        ["--model", "acme/lorem", "--status", "200", "--from", "1h"],
        ["--key-id", "Walker", "--model", "acme/lorem", "--provider", "fast", "--end", "succeeded"]
      ]) {
        const { data } = listOf((yield* spoken(["generations", "--json", ...args])).stdout)
        assert.deepStrictEqual([...new Set(data.map(({ model }) => model))], ["acme/lorem"], args.join(" "))
      }
      const none = yield* spoken(["generations", "--from", "2020-01-01", "--to", "2020-02-01"])
      assert.strictEqual(none.stdout, "There are no such requests.\n")
      const more = yield* spoken(["generations", "--limit", "1"])
      assert.match(more.stdout, /\nThere are more: raise --limit\.\n$/)
      const typo = yield* spoken(["generations", "--key-id", "walke"])
      assert.match(typo.stderr, /There is no key "walke"\.\n {2}Did you mean "walker"\?/)
      const form = yield* spoken(["generations", "--from", "yesterday"])
      assert.match(form.stderr, /Write a day \(2026-11-22\).*not "yesterday"/)
    })
  )

  it.effect("have receipts, by their id, a cut of it and the X-Request-Id, whose parts add up", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* CliGateway
      const id = yield* asked()
      const { stdout } = yield* spoken(["receipt", id])
      assert.match(stdout, /^ended +succeeded, status 200$/m)
      assert.match(stdout, /^key +walker \(key_[0-9a-f]{32}\)$/m)
      assert.match(
        stdout,
        /^1 +down +acme\/small +error unreachable +\d+ ms +\d+ ms +\d+ ms +0 \+ 0 +\$0\.00 +[·░]*█+$/m
      )
      assert.match(stdout, /^2 +fast +acme\/small +ok 200 +\d+ ms .* 14 \+ 8 +\$0\.00003 +[·░]*█+$/m)
      assert.match(
        stdout,
        /^prompt +14 +\$1\.00\/1M +\$0\.000014\ncompletion +8 +\$2\.00\/1M +\$0\.000016\ntotal +\$0\.00003$/m
      )
      // The second call begins after the first one.
      const [first, second] = [...stdout.matchAll(/([·░]*)(█+)$/gm)]
      const until = `${first?.[1] ?? ""}${first?.[2] ?? ""}`.length
      assert.isAtLeast((second?.[1] ?? "").length, until - 1)
      const request = /^request +(req_[0-9a-f]{32})$/m.exec(stdout)?.[1] ?? ""
      for (const name of [request, id.slice(0, 30), `${id.slice(0, 8)}…${id.slice(-8)}`]) {
        assert.strictEqual((yield* spoken(["receipt", name])).stdout, stdout, name)
      }
      const own = yield* line(["receipt", id, "--url", gateway.url, "--key", key, "--json"])
      const { text } = yield* gateway.send(`/v1/generations/${id}`, { key })
      assert.deepStrictEqual(JSON.parse(own.stdout), JSON.parse(text))

      yield* spoken(["chat", "-m", "acme/none", promptMarker])
      const { data } = yield* listed(["--end", "refused", "--limit", "1"], ({ data }) => data.length > 0)
      const refused = yield* spoken(["receipt", String(data[0]?.["request_id"])])
      assert.match(refused.stdout, /^ended +refused, status 404, model_not_found\n(?:.*\n)*message +The model/m)
      const unknown = yield* spoken(["receipt", "gen_0000"])
      assert.deepStrictEqual([unknown.code, unknown.stdout], [1, ""])
    })
  )

  it.effect("fit a terminal, whose cut ids commands take", () =>
    Effect.gen(function* () {
      yield* asked()
      const { stdout } = yield* spoken(["generations", "--no-color"], { isTerminal: true, columns: 130 })
      for (const row of stdout.trimEnd().split("\n")) assert.isAtMost(row.length, 130, row)
      const cut = /gen_\S*…\S+/.exec(stdout)?.[0] ?? ""
      assert.match((yield* spoken(["receipt", cut])).stdout, /^id +gen_[0-9a-f]{32}$/m)
    })
  )

  it.effect("are the lines of a log, oldest first", () =>
    Effect.gen(function* () {
      const ids = [yield* asked(), yield* asked()]
      const { stdout } = yield* spoken(["logs", "-n", "2", "--end", "succeeded"])
      const rows = stdout.trimEnd().split("\n")
      assert.deepStrictEqual(
        rows.map((row) => row.split("\t").at(-1)),
        ids
      )
      const json = yield* spoken(["logs", "-n", "1", "--end", "succeeded", "--json"])
      assert.deepInclude(JSON.parse(json.stdout), { object: "generation", id: ids[1] })
    })
  )
})
