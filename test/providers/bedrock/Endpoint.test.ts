/** Compares signatures with those of Amazon's own signer for the same calls. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../../src/domain/Catalog.ts"
import { bedrockEndpoints } from "../../../src/providers/bedrock/Endpoint.ts"
import { bedrockRegion } from "../../../src/providers/presets/BedrockRegion.ts"
import { type CallHeaders, type Transport } from "../../../src/providers/transport/Transport.ts"
import { config } from "../replayedTransport.ts"

const KEYS = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
const BODY = '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'

/** Records its calls and answers with `status` and `headers`. */
const capture = (status = 200, headers: CallHeaders = {}) => {
  const seen: Array<{ readonly config: ProviderConfig; readonly path: string; readonly headers: CallHeaders }> = []
  const transport: Transport["Service"] = {
    endpoint: (given, path) => ({
      post: (_body, _limit, own = {}) => {
        seen.push({ config: given, path, headers: own })
        return Effect.succeed({ status, headers, text: "{}" })
      },
      open: (_body, _firstTokenMs, own = {}) => {
        seen.push({ config: given, path, headers: own })
        return Effect.succeed({
          status,
          headers,
          arrived: Effect.void,
          take: () => null,
          text: () => Effect.succeed(""),
          hurry: () => undefined,
          sawToken: () => undefined,
          drain: () => undefined
        })
      }
    })
  }
  return { seen, transport }
}

const keyed = (key: string, overrides: Partial<ProviderConfig> = {}) =>
  config({
    dialect: "bedrock",
    baseUrl: "https://bedrock-runtime.eu-west-1.amazonaws.com",
    apiKey: Redacted.make(key),
    auth: { type: "bearer" },
    ...overrides
  })

describe("Bedrock endpoints", () => {
  it.effect("sign the address, the time and the body", () =>
    Effect.gen(function* () {
      const { seen, transport } = capture()
      const path = "/model/anthropic.claude-sonnet-4-20250514-v1%3A0/converse"
      yield* bedrockEndpoints(keyed(KEYS), transport)(path).post(BODY, 1_000)
      assert.deepStrictEqual(seen[0]?.headers, {
        "x-amz-date": "19700101T000000Z",
        authorization:
          "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/19700101/eu-west-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, " +
          "Signature=f6f9c9e2772d3a010216ce64f2be17029215912b7aff127879078bb7c121d8b3"
      })
      assert.deepStrictEqual(seen[0]?.config.auth, { type: "none" })
    })
  )

  it.effect("sign a session, a query and an ARN at another host, whose region stays here", () =>
    Effect.gen(function* () {
      const { seen, transport } = capture()
      const provider = keyed(`${KEYS}:FwoGZXIvYXdzEXAMPLE//==`, {
        baseUrl: "https://proxy.example",
        query: { stage: "a b", region: "us-east-2" }
      })
      const path = "/model/arn%3Aaws%3Abedrock%3Aus-east-2%3A111122223333%3Ainference-profile%2Fus.x/converse"
      yield* Effect.scoped(bedrockEndpoints(provider, transport)(path).open(BODY))
      assert.deepStrictEqual(seen[0]?.headers, {
        "x-amz-date": "19700101T000000Z",
        "x-amz-security-token": "FwoGZXIvYXdzEXAMPLE//==",
        accept: "application/vnd.amazon.eventstream",
        authorization:
          "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/19700101/us-east-2/bedrock/aws4_request, " +
          "SignedHeaders=host;x-amz-date;x-amz-security-token, " +
          "Signature=4c1caf8c0253b5808ec179e893bdfc9b0b7d63c1d2b3c5249c8846c08ca52ff6"
      })
      assert.deepStrictEqual(seen[0]?.config.query, { stage: "a b" })
    })
  )

  it.effect("leave a bearer token to the transport", () =>
    Effect.gen(function* () {
      const { seen, transport } = capture()
      const provider = keyed("ABSKQmVkcm9ja0FQSUtleS1leGFtcGxl", { headers: { region: "eu-west-1", "x-team": "a" } })
      yield* bedrockEndpoints(provider, transport)("/model/m/converse").post(BODY, 1_000)
      assert.deepStrictEqual(seen[0]?.headers, {})
      assert.deepStrictEqual(seen[0]?.config.auth, { type: "bearer" })
      assert.deepStrictEqual(seen[0]?.config.headers, { "x-team": "a" })
    })
  )

  it.effect("read a quota and a bad signature as what they are, by the error's name", () =>
    Effect.gen(function* () {
      const statusFor = (status: number, type: string) => {
        const { transport } = capture(status, { "x-amzn-errortype": type })
        return Effect.map(bedrockEndpoints(keyed(KEYS), transport)("/x").post(BODY, 1_000), (reply) => reply.status)
      }
      assert.strictEqual(yield* statusFor(400, "ServiceQuotaExceededException:http://internal.amazon.com/"), 429)
      assert.strictEqual(yield* statusFor(400, "IncompleteSignatureException"), 403)
      assert.strictEqual(yield* statusFor(400, "ValidationException"), 400)
      assert.strictEqual(yield* statusFor(200, "ServiceQuotaExceededException"), 200)
    })
  )
})

describe("bedrockRegion", () => {
  const region = (baseUrl: string, query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    bedrockRegion({ baseUrl, query, headers })

  it("reads the host, its FIPS and VPC forms too", () => {
    assert.strictEqual(region("https://bedrock-runtime.us-east-1.amazonaws.com"), "us-east-1")
    assert.strictEqual(region("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com"), "us-gov-west-1")
    assert.strictEqual(region("https://vpce-1a2b.bedrock-runtime.ap-northeast-1.vpce.amazonaws.com"), "ap-northeast-1")
    assert.strictEqual(region("https://bedrock-runtime.cn-north-1.amazonaws.com.cn"), "cn-north-1")
  })

  it("takes the query's or the headers' word for another host, and nobody's for none", () => {
    assert.strictEqual(region("http://127.0.0.1:9", { region: "eu-central-1" }), "eu-central-1")
    assert.strictEqual(region("http://127.0.0.1:9", {}, { region: "eu-north-1" }), "eu-north-1")
    assert.isNull(region("https://proxy.example/bedrock-runtime.us-east-1.amazonaws.com"))
    assert.isNull(region("not an address"))
  })
})
