/** The commands that call a gateway, against one in another process. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { Served, says } from "../client/served.ts"
import { promptMarker } from "../support/Gateway.ts"
import { line } from "./line.ts"

const parsed = (text: string) => JSON.parse(text) as Readonly<Record<string, unknown>>
const field = (name: string, text: string): string => new RegExp(`^${name} +(\\S+)`, "m").exec(text)?.[1] ?? ""

layer(Served.layer, { excludeTestServices: true, timeout: 120_000 })("the command line", (it) => {
  const spoken = (args: ReadonlyArray<string>, around?: Parameters<typeof line>[1]) =>
    Effect.flatMap(Served, ({ gateway, key }) =>
      line([...args, "--url", gateway.url, "--key", key, "--admin-key", gateway.adminKey], around)
    )

  it.effect("shows an answer on stdout and what it was on stderr", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* spoken(["chat", "--model", "mock/echo", "one", "two", promptMarker])
      assert.strictEqual(stdout, `one two ${promptMarker}\n`)
      assert.match(stderr, /^mock\/echo by mock, \d+ \+ \d+ tokens, \$0\.\d+, [\d,]+ ms, gen_[0-9a-f]{32}\n$/)
      assert.strictEqual(code, 0)
    })
  )

  it.effect("asks by each API, with the same answer and summary", () =>
    Effect.gen(function* () {
      const words = ["--model", "mock/echo", "--system", "Be brief.", "one", "two", promptMarker]
      for (const api of ["chat", "messages", "responses"]) {
        const { code, stderr, stdout } = yield* spoken(["chat", "--api", api, ...words])
        assert.deepStrictEqual([code, stdout], [0, `one two ${promptMarker}\n`], stderr)
        assert.match(stderr, /^mock\/echo by mock, \d+ \+ \d+ tokens, \$0\.\d+, [\d,]+ ms, gen_[0-9a-f]{32}\n$/, api)
        const events = yield* spoken(["chat", "--api", api, "--json", ...words])
        assert.isAbove(events.stdout.trimEnd().split("\n").map(parsed).length, 3)
        const none = yield* spoken(["chat", "--api", api, "--model", "mock/none", promptMarker])
        assert.deepStrictEqual([none.code, none.stdout], [1, ""])
        const short = yield* spoken(["chat", "--api", api, "-m", "mock/lorem", "--max-tokens", "3", promptMarker])
        assert.match(short.stderr, /finish reason (?:length|max_tokens|incomplete)/)
      }
    })
  )

  it.effect("takes a prompt from stdin, a model from the list, and writes nothing that a terminal obeys", () =>
    Effect.gen(function* () {
      const prompt = `red \u001b[31mcolour ${promptMarker}\n`
      const file = yield* spoken(["chat"], { stdin: prompt })
      assert.strictEqual(file.stdout, prompt)
      const seen = yield* spoken(["chat"], { stdin: prompt, isTerminal: true })
      assert.strictEqual(seen.stdout, prompt.replace("\u001b", "␛"))
      const nothing = yield* spoken(["chat"], { stdin: " \n" })
      assert.strictEqual(nothing.code, 2)
      assert.match(nothing.stderr, /The prompt is empty/)
    })
  )

  it.effect("streams chunks as lines of JSON", () =>
    Effect.gen(function* () {
      const asked = ["chat", "-m", "mock/lorem", "--max-tokens", "3", "--json", promptMarker]
      const { code, stderr, stdout } = yield* spoken(asked)
      const chunks = stdout.trimEnd().split("\n").map(parsed)
      assert.isAtLeast(chunks.length, 4)
      assert.strictEqual(chunks[0]?.["object"], "chat.completion.chunk")
      assert.deepInclude(chunks.at(-1)?.["usage"], { completion_tokens: 3 })
      assert.deepStrictEqual([code, stderr], [0, ""])
    })
  )

  it.effect("lists models for people and for programs", () =>
    Effect.gen(function* () {
      const { stdout } = yield* spoken(["models"])
      assert.match(
        stdout,
        /^MODEL +CONTEXT +PROMPT\/1M +COMPLETION\/1M +PROVIDERS\nmock\/echo +128,000 +\$0\.15 +\$0\.60 +mock\n/
      )
      const json = yield* spoken(["--json", "models"])
      assert.deepInclude(parsed(json.stdout), { object: "list", total_count: 3 })
    })
  )

  it.effect("previews a route, and says when there is none", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* spoken(["route", "-m", "mock/echo", "--sort", "latency", promptMarker])
      assert.match(stdout, /^By latency, .*\n.*PROVIDER.*\n1 +mock +mock\/echo +\$0/)
      assert.strictEqual(code, 0)
      const none = yield* spoken(["route", "-m", "mock/ecco", promptMarker, "--json"])
      assert.strictEqual(none.code, 1)
      assert.deepInclude(parsed(none.stderr)["error"], { type: "model_not_found", status: 404, retryable: false })
    })
  )

  it.effect("takes a key through its life", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Served
      const made = yield* spoken(["keys", "create", "ci", "--tier", "pro", "--budget", "2.5", "--model", "mock/*"])
      const [id, secret] = [field("id", made.stdout), field("key", made.stdout)]
      assert.match(secret, /^tg-/)
      assert.match(made.stdout, /^spent +\$0\.00 of \$2\.50 this month$/m)
      const strange = ["keys", "create", "later", "--model", "mock/not-yet"]
      assert.strictEqual((yield* spoken(strange)).code, 1)
      assert.match((yield* spoken([...strange, "--force"])).stdout, /^models +mock\/not-yet$/m)
      // As SDKs have it.
      const use = (key: string) => line(["key", "--url", `${gateway.url}/v1`, "--key", key])
      assert.strictEqual(field("name", (yield* use(secret)).stdout), "ci")

      const rotated = yield* spoken(["keys", "rotate", id])
      const renewed = field("key", rotated.stdout)
      assert.notStrictEqual(renewed, secret)
      assert.strictEqual((yield* use(renewed)).code, 0)

      const listed = yield* spoken(["keys", "list"])
      assert.match(listed.stdout, new RegExp(`^${id} .* active +pro +\\$0\\.00 +\\$2\\.50 .* ci$`, "m"))
      assert.notInclude(listed.stdout, renewed)

      assert.strictEqual((yield* spoken(["keys", "revoke", id])).stdout, `${id} (ci) is revoked permanently.\n`)
      assert.strictEqual((yield* use(renewed)).code, 1)
      const unknown = yield* spoken(["keys", "revoke", `key_${"0".repeat(32)}`])
      assert.strictEqual(unknown.code, 1)
      assert.match(unknown.stderr, /^tollgate: .*\n {2}Request id: req_/)
    })
  )

  it.effect("tells what was used, by whom and when", () =>
    Effect.gen(function* () {
      yield* spoken(["chat", "-m", "mock/echo", promptMarker])
      const mine = yield* spoken(["usage", "--by", "model"])
      assert.match(
        mine.stdout,
        /^From \d{4}-\d\d-01 to before .*\nMODEL +REQUESTS .*\n(?:.*\n)*mock\/echo +\d+ +0 .*\$0\.0.*\n/
      )
      assert.match(mine.stdout, /^total +\d+ /m)
      const all = yield* spoken(["usage", "--all", "--by", "provider", "--json"])
      assert.deepInclude(parsed(all.stdout), { object: "usage", group_by: "provider" })
      const early = yield* spoken(["usage", "--from", "2020-01-01", "--to", "2020-02-01"])
      assert.strictEqual(early.stdout, "From 2020-01-01 to before 2020-02-01, UTC:\nno usage\n")
      const wrong = yield* spoken(["usage", "--by", "owner"])
      assert.deepStrictEqual([wrong.code, wrong.stdout], [2, ""])
    })
  )

  it.effect("makes an admin of an address, before and after its first sign-in, and no admin again", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Served
      const email = "ada@example.com"
      const nobody = yield* spoken(["admin", "revoke", email])
      assert.strictEqual(nobody.code, 1)
      assert.match(nobody.stderr, /There is no user with the address ada@example\.com\./)
      const before = yield* spoken(["admin", "grant", "Ada@Example.com"])
      assert.match(before.stdout, /^ada@example\.com \(usr_\w+\) is an admin\.\n$/)

      const started = yield* gateway.send("/auth/register/email/start", { body: { email } })
      const { challenge_id } = parsed(started.text)
      const { text } = yield* gateway.send("/auth/dev/mailbox")
      const code = /"code":"(\d+)"/.exec(text)?.[1]
      const verified = yield* gateway.send("/auth/register/email/verify", { body: { challenge_id, code } })
      assert.deepInclude(parsed(verified.text)["user"], { email, role: "admin" })

      const again = yield* spoken(["admin", "grant", email, "--json"])
      assert.deepInclude(parsed(again.stdout), { email, role: "admin" })
      const revoked = yield* spoken(["admin", "revoke", email])
      assert.match(revoked.stdout, /^ada@example\.com \(usr_\w+\) is no longer an admin\.\n$/)
      const wrong = yield* spoken(["admin", "grant", "ada", "--json"])
      assert.strictEqual(wrong.code, 1)
      assert.deepInclude(parsed(wrong.stderr)["error"], { status: 422 })
    })
  )

  it.effect("finds the keys of a gateway on this machine, and sends them nowhere else", () =>
    Effect.gen(function* () {
      const { directory, gateway } = yield* Served
      const dataDir = join(directory, ".tollgate")
      const near = yield* line(["key", "--url", gateway.url, "--data-dir", dataDir])
      assert.strictEqual(field("name", near.stdout), "first")
      const far = yield* line(["key", "--url", "http://gateway.example", "--data-dir", dataDir])
      assert.strictEqual(far.code, 2)
      assert.match(far.stderr, /No API key found for http:\/\/gateway\.example\.\n {2}Set --key/)
    })
  )

  it.effect("is refused with a wrong key", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Served
      const { code, stderr, stdout } = yield* line(["models", "--url", gateway.url, "--key", "tg-wrong"])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.match(stderr, /No valid API key was sent.*\n {2}See `tollgate --help`/)
      assert.notInclude(stderr, "tg-wrong")
      const torn = yield* line(["models", "--url", gateway.url, "--key", "tg-torn\napart"])
      assert.deepStrictEqual([torn.code, torn.stdout], [2, ""])
      assert.match(torn.stderr, /the header authorization contains an invalid character/)
      assert.notInclude(torn.stderr, "torn")
      const { content } = says("x")[0] ?? { content: "" }
      const stopped = yield* spoken(["chat", "-m", "mock/ecco", content])
      assert.strictEqual(stopped.code, 1)
    })
  )
})
