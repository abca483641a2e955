/**
 * A certificate for `localhost` and 127.0.0.1 that is its own authority, created for each test
 * run, so that no secret is in the repository and none expires. X.509 v3 over P-256, encoded in
 * DER.
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

export interface SelfSigned {
  /** PEM. */
  readonly key: string
  /** PEM; also the authority that a client has to trust. */
  readonly cert: string
}

const tagged = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
const sequence = (...parts: ReadonlyArray<Buffer>): Buffer => tagged(0x30, ...parts)
const integer = (bytes: Buffer): Buffer => tagged(0x02, bytes)
const oid = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, "hex"))
const octets = (content: Buffer): Buffer => tagged(0x04, content)
const bits = (content: Buffer): Buffer => tagged(0x03, Buffer.from([0]), content)
const time = (text: string): Buffer => tagged(0x18, Buffer.from(text))

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const name = sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from("a server of the tests")))))
const isAuthority = sequence(
  oid("551d13"),
  tagged(0x01, Buffer.from([0xff])),
  octets(sequence(tagged(0x01, Buffer.from([0xff]))))
)
const alternativeNames = sequence(
  oid("551d11"),
  octets(sequence(tagged(0x82, Buffer.from("localhost")), tagged(0x87, Buffer.from([127, 0, 0, 1]))))
)

export const selfSigned = (): SelfSigned => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)])
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(time("20200101000000Z"), time("21200101000000Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(isAuthority, alternativeNames))
  )
  const certificate = sequence(toBeSigned, ecdsaWithSha256, bits(sign("sha256", toBeSigned, privateKey)))
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? []
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n")
  }
}
