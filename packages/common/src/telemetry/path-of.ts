import type { FastifyRequest } from 'fastify'
import type {} from './mapped-route.ts'
import { REDACTED_MEMBERS } from './redaction.ts'

/** The path of a URL without its query, which may hold tokens. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

/** The pattern of what answers a request: `/users/:userId`, or with braces; undefined where nothing does. */
export function routeOf(request: FastifyRequest): string | undefined {
  if (request.mappedRoute !== undefined) return request.mappedRoute.pattern
  return request.is404 ? undefined : request.routeOptions.url
}

/** The path of a request as logs and traces show it: where a parameter is a secret, the pattern of its route. */
export function shownPath(request: FastifyRequest): string {
  const url = routeOf(request)
  return url !== undefined && hasSecret(url) ? braceRoute(url) : pathOf(request.url)
}

const secrets = new Map<string, boolean>()

function hasSecret(url: string): boolean {
  const known = secrets.get(url)
  if (known !== undefined) return known
  const found = [...url.matchAll(PARAMETER)].some(([, name = '', braced = '']) => REDACTED_MEMBERS.has(name || braced))
  secrets.set(url, found)
  return found
}

const PARAMETER = /:([A-Za-z0-9]+)|\{([A-Za-z0-9]+)\}/g

/** `/admin/users/:userId` or `/admin/users/{userId}` → `/admin/users/{user_id}`; `noroute` where no route matched. */
export function braceRoute(url: string | undefined): string {
  if (url === undefined) return 'noroute'
  return url.replace(PARAMETER, (_match, name?: string, braced?: string) => `{${snakeCase(name ?? braced ?? '')}}`)
}

/** `userId` → `user_id`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
