/**
 * Security headers of HTML pages: a page can only do what its policy allows, and cannot be framed.
 */

/** `policy`: directives in addition to those of every page. */
export const guardedPage = (policy: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  "content-security-policy": Object.entries({ ...refused, ...policy })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; "),
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin"
})

const refused = {
  "default-src": "'none'",
  "frame-ancestors": "'none'",
  "base-uri": "'none'",
  "form-action": "'self'"
}
