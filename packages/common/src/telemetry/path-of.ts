import type { FastifyRequest } from 'fastify'
import { CENSOR, isCardNumber, REDACTED_MEMBERS } from './redaction.ts'

/** The path of a URL without its query, which may hold tokens. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

/** The pattern of the route of a request: `/users/:userId`, or with braces. Undefined when no route matches. */
export function routeOf(request: FastifyRequest): string | undefined {
  if (request.mappedRoute !== undefined) return request.mappedRoute.pattern
  return request.is404 ? undefined : request.routeOptions.url
}

/**
 * The path of a request in logs and traces. If a parameter is a secret, it is the pattern of the route. The same holds for a
 * path without a route that looks like such a route: a mail program or a proxy may have changed the link. A card number that
 * a person has typed instead of an id is not shown.
 */
export function shownPath(request: FastifyRequest): string {
  const url = routeOf(request)
  if (url !== undefined) return placeOfSecret(url) ? braceRoute(url) : withoutCards(pathOf(request.url))
  const path = pathOf(request.url)
  const plain = decodeAscii(path).toLowerCase()
  for (const [secret, place] of secrets) if (place?.test(plain)) return braceRoute(secret)
  return withoutCards(path)
}

/** A segment of digits, blanks and hyphens, as they are or percent-encoded. */
const NUMBER_SEGMENT = /(?<=\/)(?:[\d+-]|%[0-9a-f]{2}){13,}(?=\/|$)/gi

function withoutCards(path: string): string {
  return path.replaceAll(NUMBER_SEGMENT, (segment) => (isCardNumber(decodeAscii(segment)) ? CENSOR : segment))
}

/** For each known route, a pattern of where its secret stands. Undefined: it has no secret. */
const secrets = new Map<string, RegExp | undefined>()

/**
 * Makes a pattern that finds, in a lower-case path, the segments before the secret of a route and the beginning of the secret.
 * It accepts any separators between the segments. A route is known from the first call on. A server calls it for each route.
 * Undefined when the route has no secret.
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

/** `/admin/users/:userId` or `/admin/users/{userId}` → `/admin/users/{user_id}`. `noroute` when no route matched. */
export function braceRoute(url: string | undefined): string {
  if (url === undefined) return 'noroute'
  return url.replace(PARAMETER, (_match, name?: string, braced?: string) => `{${snakeCase(name ?? braced ?? '')}}`)
}

/** Turns camel case into snake case, as labels and attributes are written: `userId` becomes `user_id`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The route that answers a request where an application stands behind a wildcard route, which Fastify's router does not know. */
interface MappedRoute {
  /** With the names of parameters in braces: `/users/{userId}`. Undefined where nothing is at the URL. */
  readonly pattern: string | undefined
  /** Values of the parameters. */
  readonly params: () => Readonly<Record<string, string>>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the application behind the wildcard, for logs, metrics and traces. */
    mappedRoute: MappedRoute | undefined
  }
}
