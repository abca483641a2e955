/** What a page that people look at may do: what its policy allows and no more, in nobody's frame. */

/** `policy`: directives beside those that hold for every page. */
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
