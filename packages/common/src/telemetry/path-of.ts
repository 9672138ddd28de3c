import type { FastifyRequest } from 'fastify'
import { REDACTED_MEMBERS } from './redaction.ts'

/** The path of a URL without its query, which may hold tokens. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

/** The path of a request as logs and traces show it: where a parameter is a secret, the pattern of its route. */
export function shownPath(request: FastifyRequest): string {
  const url = request.is404 ? undefined : request.routeOptions.url
  return url !== undefined && hasSecret(url) ? braceRoute(url) : pathOf(request.url)
}

const secrets = new Map<string, boolean>()

function hasSecret(url: string): boolean {
  const known = secrets.get(url)
  if (known !== undefined) return known
  const found = [...url.matchAll(PARAMETER)].some(([, name = '']) => REDACTED_MEMBERS.has(name))
  secrets.set(url, found)
  return found
}

const PARAMETER = /:([A-Za-z0-9]+)/g

/** `/admin/users/:userId` → `/admin/users/{user_id}`; `noroute` where no route matched. */
export function braceRoute(url: string | undefined): string {
  if (url === undefined) return 'noroute'
  return url.replace(PARAMETER, (_match, name: string) => `{${snakeCase(name)}}`)
}

/** `userId` → `user_id`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
