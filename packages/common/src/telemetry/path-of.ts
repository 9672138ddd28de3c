import type { FastifyRequest } from 'fastify'
import { CENSOR, isCardNumber, REDACTED_MEMBERS } from './redaction.ts'

/** Returns the path of a URL without its query, which may contain tokens. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

/** The route pattern of a request, `/users/:userId` or with braces. `undefined` if no route matches. */
export function routeOf(request: FastifyRequest): string | undefined {
  if (request.mappedRoute !== undefined) return request.mappedRoute.pattern
  return request.is404 ? undefined : request.routeOptions.url
}

/**
 * Returns the path of a request for logs and traces. If a parameter of the route is a secret, returns the route pattern instead.
 * A path without a route may still be such a link, changed by a mail program or a proxy, so a path that looks like one is
 * replaced too. Card numbers are masked, because a person may have typed one instead of an id.
 */
export function shownPath(request: FastifyRequest): string {
  const url = routeOf(request)
  if (url !== undefined) return placeOfSecret(url) ? braceRoute(url) : withoutCards(pathOf(request.url))
  const path = pathOf(request.url)
  const plain = decodeAscii(path).toLowerCase()
  for (const [secret, place] of secrets) if (place?.test(plain)) return braceRoute(secret)
  return withoutCards(path)
}

/** A path segment of digits, spaces and hyphens, plain or percent-encoded. */
const NUMBER_SEGMENT = /(?<=\/)(?:[\d+-]|%[0-9a-f]{2}){13,}(?=\/|$)/gi

function withoutCards(path: string): string {
  return path.replaceAll(NUMBER_SEGMENT, (segment) => (isCardNumber(decodeAscii(segment)) ? CENSOR : segment))
}

/** For each known route, the pattern that finds its secret. `undefined` if the route has no secret. */
const secrets = new Map<string, RegExp | undefined>()

/**
 * Returns a pattern for the secret of a route. In a lower-case path, it finds the segments before the secret and the beginning of
 * the secret, with any separators between the segments. Returns `undefined` if the route has no secret. The first call registers
 * the route. The server calls this function for each route.
 */
export function placeOfSecret(url: string): RegExp | undefined {
  if (secrets.has(url)) return secrets.get(url)
  const secret = [...url.matchAll(PARAMETER)].find(([, name = '', braced = '']) => REDACTED_MEMBERS.has(name || braced))
  const before = url.slice(0, secret?.index).split('/').filter(Boolean)
  const steps = before.map((segment) =>
    segment.match(PARAMETER)
      ? String.raw`\w[^/]*\/+`
      : String.raw`${segment.toLowerCase().replaceAll(/\W/g, '\\$&')}\W+`,
  )
  const place = secret && new RegExp(String.raw`(?:^|\W)${steps.join('')}\w`)
  secrets.set(url, place)
  return place
}

/** Decodes percent-encoded ASCII, even if it is encoded several times. */
function decodeAscii(path: string): string {
  let plain = path
  for (let times = 0; times < DECODINGS_MAX && plain.includes('%'); times++) {
    plain = plain.replaceAll(/%(?:25)*([0-7][0-9a-f])/gi, (_match, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  }
  return plain
}

const DECODINGS_MAX = 4

const PARAMETER = /:([A-Za-z0-9]+)|\{([A-Za-z0-9]+)\}/g

/** Returns `/admin/users/{user_id}` for `/admin/users/:userId` or `…/{userId}`, and `noroute` without a route. */
export function braceRoute(url: string | undefined): string {
  if (url === undefined) return 'noroute'
  return url.replace(PARAMETER, (_match, name?: string, braced?: string) => `{${snakeCase(name ?? braced ?? '')}}`)
}

/** Turns camel case into the snake case of labels and attributes: `userId` becomes `user_id`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The route behind a wildcard route of Fastify, whose router knows only the wildcard. */
interface MappedRoute {
  /** The pattern with parameter names in braces: `/users/{userId}`. `undefined` if no route matches the URL. */
  readonly pattern: string | undefined
  /** Returns the values of the parameters. */
  readonly params: () => Readonly<Record<string, string>>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by an application behind a wildcard route, for logs, metrics and traces. */
    mappedRoute: MappedRoute | undefined
  }
}
