import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthConfig } from '../config.ts'
import type { AuthDeps } from '../deps.ts'
import {
  type RedirectCandidate,
  RedirectQuery,
  type RefusedRedirect,
  resolveRedirect,
} from '../flows/redirect-allow-list.ts'
import { audienceUnknown } from '../request-errors.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { checkAdmin } from '../sessions/admin.ts'
import type { SessionOrigin } from '../sessions/session.ts'
import { findBearer, isAdmin } from '../sessions/token-user.ts'
import { requireAudience } from '../users/admin-user-request.ts'

/** The dependencies of a context. Only admins may name an audience outside the settings, so admins are checked. */
export type RequestContextDeps = Pick<AuthDeps, 'config' | 'pools' | 'now' | 'signingKeys' | 'hooks'>

/**
 * Reads the context of a request to an endpoint without an access token. Resolves the requested redirect (reference: Redirect
 * parameter). If a rule rejects the redirect, the response and the log name the rule.
 * @param formRedirect the field `redirect_to` of a body
 */
export async function readContext(
  deps: RequestContextDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  formRedirect?: string,
): Promise<RequestContext> {
  const { redirectTo, refused } = resolveRedirect(readRedirects(request, formRedirect), deps.config.signup.redirects)
  if (refused) reportRefusal(request, reply, refused)
  return { ...(await readClient(deps, request)), redirectTo }
}

/** Returns the redirects that a request names, the most specific first. */
function readRedirects(request: FastifyRequest, formRedirect: string | undefined): readonly RedirectCandidate[] {
  return [
    { source: 'header', redirectTo: readHeader(request, 'redirect_to') },
    { source: 'query', redirectTo: RedirectQuery.parse(request.query).redirect_to },
    { source: 'form', redirectTo: formRedirect },
    { source: 'referer', redirectTo: readHeader(request, 'referer') },
  ]
}

/** The context of a request without its redirect. */
type ClientContext = Omit<RequestContext, 'redirectTo'>

/** Reads the context of a request that continues a flow with a known redirect. */
export async function readClient(deps: RequestContextDeps, request: FastifyRequest): Promise<ClientContext> {
  const { ip, limitKey, network } = request.clientAddress
  const audience = await readAudience(deps, request)
  const userAgent = readUserAgent(request) ?? ''
  return { audience, ip, limitKey, network, userAgent, linkBase: linkBase(deps.config, request) }
}

/**
 * Reads the audience in which a request creates and finds users (reference: Audience). Only admins may name an audience outside
 * the settings. Otherwise anyone could take an address in an audience that its owner does not use.
 */
export async function readAudience(deps: RequestContextDeps, request: FastifyRequest): Promise<string> {
  const { allowedAudiences, audience: usual, adminRoles } = deps.config.jwt
  const claims = findBearer(deps, request.headers.authorization)
  const isByAdmin = claims !== undefined && isAdmin(claims, adminRoles)
  const wanted = readWantedAudience(request)
  if (wanted !== undefined) {
    const audience = requireAudience(wanted)
    if (allowedAudiences.has(audience)) return audience
    if (!isByAdmin) throw audienceUnknown()
    await checkAdmin(deps, claims)
    return audience
  }
  // An admin's token does not determine the audience of users. A hook may have written an audience outside the settings.
  const own = isByAdmin ? undefined : claims?.aud
  return typeof own === 'string' && allowedAudiences.has(own) ? own : usual
}

/** Reports the rule to developers whose users end at SITE_URL. Omits the URL, which may contain secrets. */
function reportRefusal(request: FastifyRequest, reply: FastifyReply, { source, rule, host }: RefusedRedirect): void {
  reply.header('x-redirect-refused', `${rule}; source=${source}`)
  request.logFields = { ...request.logFields, redirect_refused: rule, redirect_source: source, redirect_host: host }
}

/** API_EXTERNAL_URL, with the host of the request if MAILER_EXTERNAL_HOSTS lists the host. */
function linkBase({ server, signup }: Pick<AuthConfig, 'server' | 'signup'>, request: FastifyRequest): string {
  const hosts = [readHeader(request, 'x-forwarded-host'), readHeader(request, 'host')]
  const host = hosts.find((candidate) => candidate !== undefined && signup.linkHosts.includes(candidate.toLowerCase()))
  if (host === undefined) return server.externalUrl
  const url = new URL(server.externalUrl)
  // A host without a port would not replace the port of API_EXTERNAL_URL.
  url.port = ''
  url.host = host
  return url.href
}

function readHeader(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  const first = Array.isArray(value) ? value[0] : value
  return first === '' ? undefined : first
}

/** Longer than in any browser. Headers may have 16 KiB, and every session would store them. */
const USER_AGENT_LENGTH_MAX = 512

/** Returns the address and the User-Agent of a client that opens or refreshes a session. */
export function readSessionOrigin(request: FastifyRequest): SessionOrigin {
  return { userAgent: readUserAgent(request) ?? null, ip: request.clientAddress.ip }
}

/** Returns the User-Agent, truncated to 512 characters, or `undefined` if it is missing. */
function readUserAgent({ headers }: FastifyRequest): string | undefined {
  return headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX)
}

/** Returns the header X-JWT-AUD, or `undefined` if it is missing or empty. */
export function readWantedAudience(request: FastifyRequest): string | undefined {
  const value = request.headers['x-jwt-aud']
  return (Array.isArray(value) ? value[0] : value) || undefined
}
