/**
 * Signs a list of prices for `tollgate prices refresh` (docs/reference/settings.md, prices).
 *
 *   node scripts/sign-prices.ts key FILE          makes a private key, and prints prices.public_key
 *   node scripts/sign-prices.ts sign FILE LIST    prints the list with its signature
 *
 * It signs only what a gateway accepts.
 */
import { Result } from "effect"
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { readPriceList, signedBytes } from "../src/settings/providers/PriceList.ts"

const [command, file, list] = process.argv.slice(2)

const stop = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

if (command === "key" && file !== undefined && list === undefined) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  // Never over a key that lists are signed with already.
  writeFileSync(file, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600, flag: "wx" })
  process.stdout.write(`${publicKey.export({ format: "der", type: "spki" }).toString("base64")}\n`)
} else if (command === "sign" && file !== undefined && list !== undefined) {
  const key = createPrivateKey(readFileSync(file, "utf8"))
  const prices: unknown = JSON.parse(readFileSync(list, "utf8"))
  const signed = JSON.stringify({ list: prices, signature: sign(null, signedBytes(prices), key).toString("base64") })
  const read = readPriceList(signed, createPublicKey(key))
  if (Result.isFailure(read)) stop(`${list} ${read.failure}`)
  process.stdout.write(`${signed}\n`)
} else {
  stop("usage: node scripts/sign-prices.ts key FILE | sign FILE LIST")
}
