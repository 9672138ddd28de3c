import type { FastifyRequest } from 'fastify'
import type { AuthConfig } from '../config.ts'
import type { AuthDeps } from '../deps.ts'
import { resolveRedirect } from '../redirects/redirect-allow-list.ts'
import { isAdmin } from '../sessions/caller.ts'
import { findBearer } from '../sessions/find-bearer.ts'
import type { RequestContext } from '../use-cases/request-context.ts'

/** Reads the context of a request to an endpoint that needs no bearer. @param bodyTarget the target of a form body, where it is one */
export function readContext(
  deps: Pick<AuthDeps, 'config' | 'now' | 'signingKeys'>,
  request: FastifyRequest,
  bodyTarget?: string,
): RequestContext {
  const { config } = deps
  return {
    audience: header(request, 'x-jwt-aud') ?? bearerAudience(deps, request) ?? config.jwt.audience,
    ip: request.clientAddress.audit,
    address: request.clientAddress.trusted,
    userAgent: header(request, 'user-agent') ?? '',
    redirectTo: resolveRedirect(
      [header(request, 'redirect_to'), queryTarget(request.query), bodyTarget, header(request, 'referer')],
      config.signup.redirects,
    ),
    linkBase: linkBase(config, request),
  }
}

/** The audience of a bearer that the request happens to carry; a bad one counts as none, and an admin's names nobody. */
function bearerAudience(
  deps: Pick<AuthDeps, 'config' | 'now' | 'signingKeys'>,
  { headers }: FastifyRequest,
): string | undefined {
  const claims = findBearer(deps, headers.authorization)
  if (!claims || isAdmin(claims, deps.config.jwt.adminRoles)) return undefined
  return typeof claims.aud === 'string' && claims.aud !== '' ? claims.aud : undefined
}

/** API_EXTERNAL_URL, its host replaced by the one asked for where MAILER_EXTERNAL_HOSTS lists that. */
function linkBase({ server, signup }: Pick<AuthConfig, 'server' | 'signup'>, request: FastifyRequest): string {
  const asked = [header(request, 'x-forwarded-host'), header(request, 'host')]
  const host = asked.find((candidate) => candidate !== undefined && signup.linkHosts.includes(candidate.toLowerCase()))
  if (host === undefined) return server.externalUrl
  const url = new URL(server.externalUrl)
  url.host = host
  return url.href
}

function queryTarget(query: unknown): string | undefined {
  const target: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, 'redirect_to') : undefined
  return typeof target === 'string' ? target : undefined
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  const first = Array.isArray(value) ? value[0] : value
  return first === '' ? undefined : first
}
