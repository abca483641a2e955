/** Keys and tokens in their vendors' forms, passwords in URLs and assignments, and private keys. */
import { BASE62, BASE64URL, type Dice, HEX, UPPER } from "./Dice.ts"

interface SecretValue {
  readonly text: string
  readonly found: string
}

/** One maker a vendor. */
export const vendors: Readonly<Record<string, (dice: Dice) => string>> = {
  OpenAI: (dice) => `sk-proj-${dice.chars(BASE64URL, 74)}T3BlbkFJ${dice.chars(BASE62, 74)}`,
  "OpenAI, older": (dice) => `sk-${dice.chars(BASE62, 20)}T3BlbkFJ${dice.chars(BASE62, 20)}`,
  Anthropic: (dice) => `sk-ant-api03-${dice.chars(BASE64URL, 93)}AA`,
  OpenRouter: (dice) => `sk-or-v1-${dice.chars(HEX, 64)}`,
  Google: (dice) => `AIza${dice.chars(BASE62, 35)}`,
  Groq: (dice) => `gsk_${dice.chars(BASE62, 52)}`,
  xAI: (dice) => `xai-${dice.chars(BASE62, 80)}`,
  Perplexity: (dice) => `pplx-${dice.chars(BASE62, 48)}`,
  "Hugging Face": (dice) => `hf_${dice.chars("abcdefghijABCDEFGHIJ", 34)}`,
  AWS: (dice) => `AKIA${dice.chars(`${UPPER}234567`, 16)}`,
  GitHub: (dice) => `ghp_${dice.chars(BASE62, 36)}`,
  "GitHub, fine-grained": (dice) => `github_pat_${dice.chars(BASE62, 22)}_${dice.chars(BASE62, 59)}`,
  GitLab: (dice) => `glpat-${dice.chars(BASE62, 20)}`,
  npm: (dice) => `npm_${dice.chars(BASE62, 36)}`,
  PyPI: (dice) => `pypi-AgEIcHlwaS5vcmc${dice.chars(BASE64URL, 130)}A`,
  Slack: (dice) => `xoxb-${dice.form("############-#############")}-${dice.chars(BASE62, 24)}`,
  Stripe: (dice) => `sk_live_${dice.chars(BASE62, 24)}`,
  SendGrid: (dice) => `SG.${dice.chars(BASE62, 22)}.${dice.chars(BASE62, 43)}`,
  Twilio: (dice) => `SK${dice.chars(HEX, 32)}`,
  Shopify: (dice) => `shpat_${dice.chars(HEX, 32)}`,
  DigitalOcean: (dice) => `dop_v1_${dice.chars(HEX, 64)}`,
  Databricks: (dice) => `dapi${dice.chars(HEX, 32)}`,
  Vault: (dice) => `hvs.${dice.chars(BASE64URL, 93)}Q`,
  Grafana: (dice) => `glsa_${dice.chars(BASE62, 32)}_${dice.chars(HEX, 8)}`,
  Linear: (dice) => `lin_api_${dice.chars(BASE62, 40)}`,
  Docker: (dice) => `dckr_pat_${dice.chars(BASE62, 27)}`,
  Figma: (dice) => `figd_${dice.chars(BASE62, 40)}`,
  tollgate: (dice) => `tg-${dice.chars(HEX, 16)}-${dice.chars(BASE62, 43)}`
}

const webToken = (dice: Dice): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const claims = { sub: dice.chars(BASE62, 12), iat: dice.int(1_700_000_000, 1_800_000_000) }
  return `${part({ alg: dice.pick(["HS256", "RS256"]), typ: "JWT" })}.${part(claims)}.${dice.chars(BASE62, 43)}`
}

const privateKey = (dice: Dice): string => {
  const kind = dice.pick(["", "RSA ", "EC ", "OPENSSH "])
  const lines = Array.from({ length: dice.int(3, 12) }, () => dice.chars(BASE62, 64))
  const mark = dice.pick(["\n", "\n", "\\n"])
  return `-----BEGIN ${kind}PRIVATE KEY-----${mark}${lines.join(mark)}=${mark}-----END ${kind}PRIVATE KEY-----`
}

const inUrl = (dice: Dice): SecretValue => {
  const found = `${dice.pick(["app", "admin", "ci_user"])}:${dice.chars(BASE62, dice.int(8, 24))}`
  const scheme = dice.pick(["postgres", "mongodb+srv", "redis", "https", "amqp"])
  return { text: `${scheme}://${found}@db.internal.example.com:5432/app`, found }
}

const assigned = (dice: Dice): SecretValue => {
  const found = `${dice.chars(BASE62, dice.int(20, 40))}${dice.int(0, 9)}a`
  const forms = [
    `aws_secret_access_key = ${found}`,
    `"api_key": "${found}"`,
    `MISTRAL_API_KEY=${found}`,
    `Authorization: Bearer ${found}`,
    `client_secret: ${found}`,
    `AccountKey=${found}`
  ]
  const password = `${dice.pick(["Winter", "tr0ub4dor", "S3cret"])}${dice.form("####")}`
  return dice.chance(0.3) ? { text: `password: ${password}`, found: password } : { text: dice.pick(forms), found }
}

export const secretOf = (dice: Dice): SecretValue => {
  const plain = (found: string): SecretValue => ({ text: found, found })
  switch (dice.int(0, 7)) {
    case 0:
      return plain(webToken(dice))
    case 1:
      return plain(privateKey(dice))
    case 2:
      return inUrl(dice)
    case 3:
      return assigned(dice)
    default:
      return plain(dice.pick(Object.values(vendors))(dice))
  }
}
