import type { HandlerPlace } from '../routing/pattern.ts'
import type { Target } from '../routing/target.ts'
import type { Incoming } from './incoming.ts'

/** Values of a query by name. A list repeats the name. Undefined is left out. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined | readonly (string | number)[]>>

type Parts = readonly (string | number)[]

/** The URL of a request. It builds other URLs of the application. */
export class RequestUrl extends URL {
  readonly #modulePath: Parts
  readonly #controllerPath: Parts

  /** The paths of the module and of the class that answer, with the prefix of a mount. */
  constructor(href: string, modulePath: Parts, controllerPath: Parts) {
    super(href)
    this.#modulePath = modulePath
    this.#controllerPath = controllerPath
  }

  /** A URL below the module that answers: `url.module('bar', 7, { page: 2 })`. */
  module(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#modulePath, parts)
  }

  /** A URL below the class that answers. */
  controller(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#controllerPath, parts)
  }

  #build(base: Parts, given: readonly (string | number | QueryValues)[]): URL {
    const parts = given.filter((part) => typeof part !== 'object')
    const query = given.find((part) => typeof part === 'object') ?? {}
    const path = [...base, ...parts].map((part) => encodeURIComponent(part)).join('/')
    const url = new URL(`/${path}`, this.origin)
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue
      for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each))
    }
    return url
  }
}

/** A host, perhaps with a port. With `/`, `?`, `#`, `@` or `\\` a client would choose another part of the URL. */
const bareHost = /^[^\s/?#@\\]+$/

/** The URL of a request. Behind trusted proxies, scheme and host come from the forwarding headers. */
export function buildRequestUrl(
  incoming: Incoming,
  {
    target: { path: sentPath, query: queryText },
    route: { modulePath, classPath } = { modulePath: [], classPath: [] },
    trustedProxies,
  }: { readonly target: Target; readonly route: HandlerPlace | undefined; readonly trustedProxies: number },
): RequestUrl {
  const [ownScheme, ownHost] = incoming.origin().split('://')
  const scheme = forwarded(incoming, 'x-forwarded-proto', trustedProxies)?.match(/^https?$/i)?.[0] ?? ownScheme
  const host = forwarded(incoming, 'x-forwarded-host', trustedProxies) ?? ownHost ?? ''
  const called = `${scheme}://${host}`
  const origin = bareHost.test(host) && URL.canParse(called) ? called : 'http://localhost'
  const path = sentPath.replace(/^https?:\/\/[^/]*/i, '')
  const mount = path
    .split('/')
    .filter((part) => part !== '')
    .slice(0, incoming.mountDepth)
  const query = queryText === '' ? '' : `?${queryText}`
  return new RequestUrl(`${origin}${path}${query}`, [...mount, ...modulePath], [...mount, ...modulePath, ...classPath])
}

/** The value that the outermost trusted proxy gives a header; undefined when no proxy is trusted, or the header is missing. */
function forwarded(incoming: Incoming, name: string, trustedProxies: number): string | undefined {
  const values = trustedProxies === 0 ? [] : (incoming.header(name)?.split(',') ?? [])
  return values[Math.max(0, values.length - trustedProxies)]?.trim()
}
