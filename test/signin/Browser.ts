/**
 * A minimal browser for sign-in: a cookie jar that respects path, age and `Secure` (loopback counts
 * as secure, as in real browsers), redirects that are followed one by one, and the headers that
 * tell where a request comes from.
 */
export interface Page {
  readonly status: number
  readonly url: string
  readonly headers: Headers
  readonly text: string
  readonly json: () => unknown
}

interface Cookie {
  readonly value: string
  readonly path: string
  readonly attributes: string
}

export interface Visit {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The page that sends the request. Default: the gateway's own. */
  readonly from?: string
  /** The most redirects to follow. Default: 10. */
  readonly redirects?: number
}

export class Browser {
  /** By host, then by name and path. */
  readonly #jars = new Map<string, Map<string, Cookie>>()
  /** Every visited address, redirects included. */
  readonly visited: Array<string> = []
  readonly home: string

  /** `home`: the origin of the pages that it shows. */
  constructor(home: string) {
    this.home = home
  }

  /** The cookies that it would send to an address. */
  cookies(url: string): Readonly<Record<string, string>> {
    const { host, pathname } = new URL(url, this.home)
    return Object.fromEntries(
      [...(this.#jars.get(host) ?? new Map<string, Cookie>())]
        .filter(([, { path }]) => pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`))
        .map(([key, { value }]) => [key.split(" ")[0] ?? "", value])
    )
  }

  /** The attributes that a cookie was set with. */
  attributesOf(name: string): string | undefined {
    for (const jar of this.#jars.values()) {
      for (const [key, { attributes }] of jar) if (key.startsWith(`${name} `)) return attributes
    }
    return undefined
  }

  /** Navigates by a click or a typed address, and follows redirects. */
  async visit(url: string, visit: Visit = {}): Promise<Page> {
    let at = new URL(url, this.home).href
    for (let left = visit.redirects ?? 10; ; left--) {
      const page = await this.#send(at, { ...visit, headers: { accept: "text/html", ...visit.headers } })
      const location = page.headers.get("location")
      if (page.status < 300 || page.status >= 400 || location === null || left === 0) return page
      at = new URL(location, at).href
    }
  }

  /** Sends a request as a script of a page. */
  async script(path: string, visit: Visit = {}): Promise<Page> {
    const from = visit.from ?? this.home
    const site = new URL(from).origin === this.home ? "same-origin" : "cross-site"
    const method = visit.method ?? (visit.body === undefined ? "GET" : "POST")
    return this.#send(new URL(path, this.home).href, {
      ...visit,
      method,
      headers: {
        "sec-fetch-site": site,
        ...(method === "GET" && site === "same-origin" ? {} : { origin: from }),
        ...visit.headers
      }
    })
  }

  async #send(url: string, { body, headers, method }: Visit): Promise<Page> {
    this.visited.push(url)
    const cookies = Object.entries(this.cookies(url)).map(([name, value]) => `${name}=${value}`)
    const response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      redirect: "manual",
      headers: {
        "user-agent": "Mozilla/5.0 (test)",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(cookies.length === 0 ? {} : { cookie: cookies.join("; ") }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    for (const line of response.headers.getSetCookie()) this.#keep(new URL(url).host, line)
    const text = await response.text()
    return { status: response.status, url, headers: response.headers, text, json: () => JSON.parse(text) }
  }

  #keep(host: string, line: string): void {
    const [pair = "", ...attributes] = line.split("; ")
    const [name = "", value = ""] = pair.split(/=(.*)/s)
    const of = (attribute: string): string | undefined =>
      attributes.find((one) => one.toLowerCase().startsWith(`${attribute}=`))?.split("=")[1]
    const path = of("path") ?? "/"
    const jar = this.#jars.get(host) ?? new Map<string, Cookie>()
    this.#jars.set(host, jar)
    const key = `${name} ${path}`
    if (Number(of("max-age") ?? "1") <= 0) jar.delete(key)
    else jar.set(key, { value: decodeURIComponent(value), path, attributes: attributes.join("; ") })
  }
}
