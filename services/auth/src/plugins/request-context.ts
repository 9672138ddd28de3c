import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthConfig } from '../config.ts'
import type { AuthDeps } from '../deps.ts'
import { validationFailed } from '../errors.ts'
import { type RedirectCandidate, type RefusedRedirect, resolveRedirect } from '../flows/redirect-allow-list.ts'
import { isAdmin } from '../sessions/caller.ts'
import { findBearer } from '../sessions/find-bearer.ts'
import { admitAdmin } from '../use-cases/admit-admin.ts'
import type { RequestContext } from '../use-cases/request-context.ts'
import { requireAudience } from '../users/audience.ts'
import { readUserAgent } from './session-origin.ts'

type Deps = Pick<AuthDeps, 'config' | 'hooks' | 'lanes' | 'now' | 'signingKeys'>

/**
 * Reads the context of a request to an endpoint that needs no bearer. Where the request asks for a redirect that is refused,
 * answer and log name the rule.
 * @param formTarget the target of a form body, where it is one
 */
export async function readContext(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  formTarget?: string,
): Promise<RequestContext> {
  const { config } = deps
  const candidates: readonly RedirectCandidate[] = [
    { source: 'header', target: header(request, 'redirect_to') },
    { source: 'query', target: queryTarget(request.query) },
    { source: 'form', target: formTarget },
    { source: 'referer', target: header(request, 'referer') },
  ]
  const { target, refused } = resolveRedirect(candidates, config.signup.redirects)
  if (refused) explainRefusal(request, reply, refused)
  return {
    audience: await readAudience(deps, request),
    ip: request.clientAddress.address,
    address: request.clientAddress.address,
    limitKey: request.clientAddress.limitKey,
    network: request.clientAddress.network,
    userAgent: readUserAgent(request) ?? '',
    redirectTo: target,
    linkBase: linkBase(config, request),
  }
}

/**
 * The audience of a request (reference: Audience): of the users whom it makes, and among whom it looks. Only admins may
 * name one that the settings do not: anybody else could take the address of somebody in an audience where its owner
 * never looks.
 * @throws validationFailed, and as `admitAdmin` does
 */
export async function readAudience(deps: Deps, request: FastifyRequest): Promise<string> {
  const { allowedAudiences, audience: usual, adminRoles } = deps.config.jwt
  const claims = findBearer(deps, request.headers.authorization)
  const isByAdmin = claims !== undefined && isAdmin(claims, adminRoles)
  const wanted = header(request, 'x-jwt-aud')
  if (wanted !== undefined) {
    const audience = requireAudience(wanted)
    if (allowedAudiences.has(audience)) return audience
    if (!isByAdmin) throw validationFailed({ message: 'X-JWT-AUD names no audience of this service' })
    // The token of who was an admin once still says so.
    await admitAdmin(deps, claims)
    return audience
  }
  // An admin's token names nobody, and the audience of another one may be the work of a hook.
  const own = isByAdmin ? undefined : claims?.aud
  return typeof own === 'string' && allowedAudiences.has(own) ? own : usual
}

/** Whoever wonders why their users land on SITE_URL finds the rule here. The target itself may carry secrets. */
function explainRefusal(request: FastifyRequest, reply: FastifyReply, { source, rule, host }: RefusedRedirect): void {
  reply.header('x-redirect-refused', `${rule}; source=${source}`)
  request.logFields = { ...request.logFields, redirect_refused: rule, redirect_source: source, redirect_host: host }
}

/** API_EXTERNAL_URL, its host replaced by the one asked for where MAILER_EXTERNAL_HOSTS lists that. */
function linkBase({ server, signup }: Pick<AuthConfig, 'server' | 'signup'>, request: FastifyRequest): string {
  const asked = [header(request, 'x-forwarded-host'), header(request, 'host')]
  const host = asked.find((candidate) => candidate !== undefined && signup.linkHosts.includes(candidate.toLowerCase()))
  if (host === undefined) return server.externalUrl
  const url = new URL(server.externalUrl)
  // A host without a port leaves the port as it was.
  url.port = ''
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
