/**
 * What the scanner finds, the bounds of each match, and what it leaves, on any input within its
 * time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TimeBudget } from "../../../src/gateway/privacy/TimeBudget.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { everything, findIn, scanned } from "./scanning.ts"

/** A text, and the matches in it. */
const found: Readonly<Record<string, ReadonlyArray<readonly [text: string, ...found: ReadonlyArray<string>]>>> = {
  "e-mail addresses": [
    ["Write to ann.smith+news@mail.example.co.uk.", "email ann.smith+news@mail.example.co.uk"],
    ["<o'brien@example.com>,'bob@example.com'", "email o'brien@example.com", "email bob@example.com"],
    ["email=ann@example.com&next=1", "email ann@example.com"],
    ["mailto:ann@example.com?subject=x", "email ann@example.com"],
    ["müller@büro.at 邮箱ann@example.com。", "email müller@büro.at", "email ann@example.com"],
    ["https://example.com/?to=ann@example.com", "email ann@example.com"],
    [String.raw`Hello\nann@example.com\n`, "email ann@example.com"],
    ["ann@example.com-2024 ann@example.com.", "email ann@example.com", "email ann@example.com"],
    ["git@github.com:org/repo.git logo@2x.png pkg@1.2.3 @ann ann@localhost a@ @"]
  ],
  "phone numbers": [
    ["Call +41 44 668 18 00 12 times", "phone +41 44 668 18 00"],
    ["+1 (415) 555-2671, +44 (0)20 7946 0958", "phone +1 (415) 555-2671", "phone +44 (0)20 7946 0958"],
    ["+41446681800,+41446681801", "phone +41446681800", "phone +41446681801"],
    ["0041 44 668 18 00 or 011 41 44 668 18 00", "phone 0041 44 668 18 00", "phone 011 41 44 668 18 00"],
    ["(415) 555-2671, 415-555-2671", "phone (415) 555-2671", "phone 415-555-2671"],
    // This area has no numbers, but the text can be nothing else.
    ["Call 555-123-4567, +1 555 123 4567", "phone 555-123-4567", "phone +1 555 123 4567"],
    ["电话+8613812345678。", "phone +8613812345678"],
    ["555-123-4567 1000000+2000000 +25 % UTC+01:00 0012345678 0.0041446681800 0.415-555-2671 +1 000"]
  ],
  "payment cards": [
    ["4111 1111 1111 1111, 5555-5555-5555-4444", "credit_card 4111 1111 1111 1111", "credit_card 5555-5555-5555-4444"],
    ["378282246310005 3782 822463 10005", "credit_card 378282246310005", "credit_card 3782 822463 10005"],
    [
      "30569309025904 6011000990139424 3530111333300000 2223003122003222",
      "credit_card 30569309025904",
      "credit_card 6011000990139424",
      "credit_card 3530111333300000",
      "credit_card 2223003122003222"
    ],
    ["12 4242 4242 4242 4242 06/28 123", "credit_card 4242 4242 4242 4242"],
    ["4111111111111111,5500005555555559", "credit_card 4111111111111111", "credit_card 5500005555555559"],
    ["4111111111111112 1234567812345670 0.4111111111111111 a4111111111111111 4111-1111-1111-1111-1 4006381333931"]
  ],
  IBANs: [
    [
      "CH93 0076 2011 6238 5295 7, GB82WEST12345698765432",
      "iban CH93 0076 2011 6238 5295 7",
      "iban GB82WEST12345698765432"
    ],
    ["de89 3704 0044 0532 0130 00 and more", "iban de89 3704 0044 0532 0130 00"],
    ["CH93 0076 2011 6238 5295 8 XX82WEST12345698765432 CH9300762011623852957A"]
  ],
  "US social security numbers": [
    ["123-45-6789 and 078-05-1120", "us_ssn 123-45-6789", "us_ssn 078-05-1120"],
    ["SSN: 123 45 6789, social security number is 123456789", "us_ssn 123 45 6789", "us_ssn 123456789"],
    ["000-12-3456 666-12-3456 923-45-6789 123-00-6789 123-45-0000 123456789 1-123-45-6789 123-45-67890"]
  ],
  "IP addresses": [
    [
      "192.168.1.1:8080, 10.0.0.0/8, 10.0.0.1-10.0.0.9",
      "ip_address 192.168.1.1",
      "ip_address 10.0.0.0",
      "ip_address 10.0.0.1",
      "ip_address 10.0.0.9"
    ],
    ["from 5 203.0.113.7.", "ip_address 203.0.113.7"],
    ["2001:db8::1, [fe80::1]:80 ::1", "ip_address 2001:db8::1", "ip_address fe80::1", "ip_address ::1"],
    [
      "::ffff:192.0.2.1 2001:0db8:85a3:0000:0000:8a2e:0370:7334:",
      "ip_address ::ffff:192.0.2.1",
      "ip_address 2001:0db8:85a3:0000:0000:8a2e:0370:7334"
    ],
    [
      "v1.2.3.4 version 1.2.3.4 1.2.3.4-rc1 Chrome/120.0.0.0 256.1.1.1 1.2.3.4.5 section 1.2.3.4 12:30:45 std::vector a::b 00:1a:2b:3c:4d:5e"
    ]
  ],
  secrets: [
    [`sk-proj-${"aB3_".repeat(20)}.`, `secret sk-proj-${"aB3_".repeat(20)}`],
    [`ghp_${"a1B2".repeat(9)} AKIAIOSFODNN7EXAMPLE`, `secret ghp_${"a1B2".repeat(9)}`, "secret AKIAIOSFODNN7EXAMPLE"],
    [String.raw`"key\nsk-ant-api03-abcdefghij1234567890"`, "secret sk-ant-api03-abcdefghij1234567890"],
    [
      "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1",
      "secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1"
    ],
    ["postgres://app:hunter22@db.example.com/x", "secret app:hunter22"],
    [
      "password: Winter2024!, pwd=hunter2, Bearer abcdefghij0123456789",
      "secret Winter2024",
      "secret hunter2",
      "secret abcdefghij0123456789"
    ],
    [
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-123_x, eyJub3QiOiJhIHRva2VuIn0.a.b",
      "secret eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-123_x"
    ],
    [
      `-----BEGIN RSA PRIVATE KEY-----\n${"MIIE".repeat(16)}\n-----END RSA PRIVATE KEY-----\nBye`,
      `secret -----BEGIN RSA PRIVATE KEY-----\n${"MIIE".repeat(16)}\n-----END RSA PRIVATE KEY-----`
    ],
    [
      "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY----- and -----BEGIN PRIVATE KEY----- is how one begins",
      "secret -----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"
    ],
    // A key that is cut off before its end is still a key.
    [`-----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(16)}\n`, `secret -----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(16)}`],
    [
      "sk-learn-contrib max_tokens=1024 api_key: process.env.KEY_2 password: ${PASSWORD_1} token: your-token-1234567 https://user@host/ -----BEGIN PUBLIC KEY----- AKIA1 the secret of 1984"
    ]
  ]
}

describe.each(Object.entries(found))("%s", (_, cases) => {
  it.effect.each(cases)("%s", ([text, ...expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* findIn(text), expected)
    })
  )
})

describe("overlaps", () => {
  it.effect("keep the longest match, and of equal ones the more specific", () =>
    Effect.gen(function* () {
      // The number inside an IBAN, the address inside a URL with a password.
      assert.deepStrictEqual(yield* findIn("DE75512108001245126199"), ["iban DE75512108001245126199"])
      const number = { name: "employee", pattern: String.raw`\d{3}-\d{2}-\d{4}` }
      assert.deepStrictEqual(yield* findIn("123-45-6789", [number]), ["employee 123-45-6789"])
      const first = { name: "first", pattern: "abcdef" }
      const second = { name: "second", pattern: "efghijkl" }
      assert.deepStrictEqual(yield* findIn("xxabcdefghijklxx", [first, second]), ["second abcdefghijkl"])
    })
  )
})

it.effect("an operator's pattern is found under its name, and an empty match is ignored", () =>
  Effect.gen(function* () {
    const employee = { name: "employee", pattern: String.raw`\bEMP-\d{6}\b` }
    const empty = { name: "empty", pattern: "x*" }
    assert.deepStrictEqual(yield* findIn("EMP-123456, EMP-12", [employee, empty]), ["employee EMP-123456"])
  })
)

it.effect("only the wanted types are searched for", () =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([])
    const text = "ann@example.com 4111 1111 1111 1111 192.168.1.1 123-45-6789"
    const types = (wanted: ReadonlyArray<string>) => scanned(scan, text, new Set(wanted))?.map(({ type }) => type)
    assert.deepStrictEqual(types(["ip_address"]), ["ip_address"])
    assert.deepStrictEqual(types(["us_ssn", "email"]), ["email", "us_ssn"])
    assert.deepStrictEqual(types([]), [])
  })
)

it.effect("a search whose time is over returns nothing, not a part", () =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([])
    let nanos = 0n
    const budget = new TimeBudget(() => (nanos += 1_000_000n), 5)
    assert.isNull(scanned(scan, "ann@example.com ".repeat(20), everything, budget))
    assert.isTrue(budget.isOver())
    assert.strictEqual(scanned(scan, "ann@example.com", everything)?.length, 1)
  })
)
