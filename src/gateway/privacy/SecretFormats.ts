/**
 * The formats of vendors' keys and tokens: a distinctive beginning, then characters of one
 * alphabet. `min` is the length after the beginning. It is less than the vendor's own length, so
 * that older and shortened keys are found too.
 */

/** The characters that may follow a beginning. */
export const alphabets = {
  base62: /[A-Za-z0-9]/,
  base64: /[A-Za-z0-9+/=]/,
  url: /[A-Za-z0-9_-]/,
  dotted: /[A-Za-z0-9_.=-]/,
  path: /[A-Za-z0-9/_-]/,
  hex: /[0-9a-f]/,
  upper: /[A-Z0-9]/
} as const
export type Alphabet = keyof typeof alphabets

export interface SecretFormat {
  readonly vendor: string
  readonly beginnings: ReadonlyArray<string>
  readonly alphabet: Alphabet
  readonly min: number
  /** A longer text is not a key of this vendor. */
  readonly max?: number
  /** The beginning is not distinctive, so a digit must follow. */
  readonly needsDigit?: true
}

export const secretFormats: ReadonlyArray<SecretFormat> = [
  // Models
  { vendor: "OpenAI", beginnings: ["sk-proj-", "sk-svcacct-", "sk-admin-"], alphabet: "url", min: 20 },
  { vendor: "OpenAI, DeepSeek and others", beginnings: ["sk-"], alphabet: "base62", min: 20, needsDigit: true },
  { vendor: "Anthropic", beginnings: ["sk-ant-"], alphabet: "url", min: 20 },
  { vendor: "OpenRouter", beginnings: ["sk-or-"], alphabet: "url", min: 20 },
  { vendor: "xAI", beginnings: ["xai-"], alphabet: "base62", min: 20 },
  { vendor: "Groq", beginnings: ["gsk_"], alphabet: "base62", min: 20 },
  { vendor: "Perplexity", beginnings: ["pplx-"], alphabet: "base62", min: 20 },
  { vendor: "Hugging Face", beginnings: ["hf_", "api_org_"], alphabet: "base62", min: 30 },
  { vendor: "Replicate", beginnings: ["r8_"], alphabet: "base62", min: 34 },
  { vendor: "Cerebras", beginnings: ["csk-"], alphabet: "base62", min: 40 },
  { vendor: "Fireworks", beginnings: ["fw_"], alphabet: "base62", min: 20, needsDigit: true },
  { vendor: "Together", beginnings: ["tgp_v1_"], alphabet: "url", min: 40 },
  { vendor: "NVIDIA", beginnings: ["nvapi-"], alphabet: "url", min: 60 },
  { vendor: "Voyage", beginnings: ["pa-"], alphabet: "url", min: 40, needsDigit: true },
  { vendor: "tollgate", beginnings: ["tg-", "tga-"], alphabet: "url", min: 40, needsDigit: true },
  // Clouds
  {
    vendor: "AWS",
    beginnings: ["AKIA", "ASIA", "AGPA", "AIDA", "AROA", "AIPA", "ANPA", "ANVA"],
    alphabet: "upper",
    min: 16,
    max: 16
  },
  { vendor: "Amazon Bedrock", beginnings: ["ABSK"], alphabet: "base64", min: 100 },
  { vendor: "Google", beginnings: ["AIza"], alphabet: "url", min: 35 },
  { vendor: "Google OAuth", beginnings: ["GOCSPX-"], alphabet: "url", min: 24 },
  { vendor: "Google OAuth", beginnings: ["ya29."], alphabet: "dotted", min: 40 },
  {
    vendor: "Cloudflare",
    beginnings: ["cfk_", "cfut_", "cfat_"],
    alphabet: "base62",
    min: 40
  },
  { vendor: "DigitalOcean", beginnings: ["dop_v1_", "doo_v1_", "dor_v1_"], alphabet: "hex", min: 64 },
  { vendor: "Heroku", beginnings: ["HRKU-"], alphabet: "url", min: 36 },
  { vendor: "Vercel", beginnings: ["vcp_", "vci_", "vca_", "vcr_", "vck_"], alphabet: "base62", min: 20 },
  { vendor: "Netlify", beginnings: ["nfp_"], alphabet: "base62", min: 36 },
  { vendor: "Fly.io", beginnings: ["fm2_"], alphabet: "base64", min: 60 },
  { vendor: "Supabase", beginnings: ["sbp_"], alphabet: "hex", min: 40 },
  { vendor: "PlanetScale", beginnings: ["pscale_tkn_", "pscale_pw_"], alphabet: "url", min: 32 },
  { vendor: "Databricks", beginnings: ["dapi"], alphabet: "hex", min: 32 },
  { vendor: "HashiCorp Vault", beginnings: ["hvs.", "hvb.", "hvr."], alphabet: "url", min: 24 },
  { vendor: "Tailscale", beginnings: ["tskey-"], alphabet: "url", min: 24 },
  { vendor: "Doppler", beginnings: ["dp.pt.", "dp.st."], alphabet: "dotted", min: 40 },
  // Code
  { vendor: "GitHub", beginnings: ["ghp_", "gho_", "ghu_", "ghr_"], alphabet: "base62", min: 36 },
  { vendor: "GitHub", beginnings: ["ghs_"], alphabet: "dotted", min: 36 },
  { vendor: "GitHub", beginnings: ["github_pat_"], alphabet: "url", min: 60 },
  {
    vendor: "GitLab",
    beginnings: ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
    alphabet: "dotted",
    min: 20
  },
  { vendor: "Atlassian", beginnings: ["ATATT3", "ATCTT3"], alphabet: "dotted", min: 60 },
  { vendor: "Bitbucket", beginnings: ["ATBB"], alphabet: "base62", min: 28, needsDigit: true },
  { vendor: "npm", beginnings: ["npm_"], alphabet: "base62", min: 36 },
  { vendor: "PyPI", beginnings: ["pypi-"], alphabet: "url", min: 50 },
  { vendor: "RubyGems", beginnings: ["rubygems_"], alphabet: "hex", min: 48 },
  { vendor: "Docker", beginnings: ["dckr_pat_"], alphabet: "url", min: 27 },
  // Services
  {
    vendor: "Slack",
    beginnings: ["xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"],
    alphabet: "dotted",
    min: 12,
    needsDigit: true
  },
  { vendor: "Slack", beginnings: ["hooks.slack.com/services/"], alphabet: "path", min: 12 },
  {
    vendor: "Stripe",
    beginnings: ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
    alphabet: "base62",
    min: 20
  },
  { vendor: "Twilio", beginnings: ["SK"], alphabet: "hex", min: 32, max: 32 },
  { vendor: "SendGrid", beginnings: ["SG."], alphabet: "dotted", min: 32, needsDigit: true },
  { vendor: "Mailgun", beginnings: ["key-"], alphabet: "hex", min: 32, max: 32 },
  { vendor: "Shopify", beginnings: ["shpat_", "shpca_", "shppa_", "shpss_"], alphabet: "base62", min: 32 },
  { vendor: "Linear", beginnings: ["lin_api_", "lin_oauth_"], alphabet: "url", min: 32 },
  { vendor: "Notion", beginnings: ["ntn_", "secret_"], alphabet: "base62", min: 43, needsDigit: true },
  { vendor: "Figma", beginnings: ["figd_"], alphabet: "url", min: 40 },
  { vendor: "Grafana", beginnings: ["glsa_"], alphabet: "url", min: 38 },
  { vendor: "Grafana", beginnings: ["glc_"], alphabet: "base64", min: 32 },
  { vendor: "Sentry", beginnings: ["sntrys_", "sntryu_"], alphabet: "dotted", min: 40 },
  { vendor: "New Relic", beginnings: ["NRAK-"], alphabet: "base62", min: 27 },
  { vendor: "1Password", beginnings: ["ops_ey"], alphabet: "base64", min: 100 },
  { vendor: "age", beginnings: ["AGE-SECRET-KEY-1"], alphabet: "upper", min: 50 }
]
