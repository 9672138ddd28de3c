import { PROBLEM_TEXTS } from '../error-texts.ts'
import { AccessDenied, type AccessDeniedOptions, CallError, Forbidden } from '../errors.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import type { Guard, GuardContext } from './guard.ts'

/** Returns the identity of the caller, which becomes `request.identity`. A falsy value refuses the request. */
type Check<T extends readonly unknown[]> = (...given: [...T, context: GuardContext]) => unknown

/** The realm in the challenge (RFC 9110, section 11.5). By default there is none. */
export interface AuthOptions {
  readonly realm?: string
}

/** Admits a user name and password if `check` accepts them. The check should compare secrets in constant time. */
export function authBasic(check: Check<[username: string, password: string]>, options: AuthOptions = {}): Guard {
  const guard = authenticate('Basic', options, ({ request }) => {
    const { username, password } = request.auth() ?? {}
    if (username === undefined || password === undefined) return undefined
    return (context) => check(username, password, context)
  })
  return Object.assign(guard, describeSecurity('basic', { type: 'http', scheme: 'basic' }))
}

/**
 * Creates a guard that admits a token if `check` accepts it. If the check throws, the error is logged and the client gets 401.
 * The check may throw a `CallError`, for example 503, to answer differently.
 */
export function authBearer(check: Check<[token: string]>, options: AuthOptions = {}): Guard {
  const guard = authenticate('Bearer', options, ({ request }) => {
    const credentials = request.auth()
    return credentials?.scheme === 'bearer' ? (context) => check(credentials.token, context) : undefined
  })
  return Object.assign(guard, describeSecurity('bearer', { type: 'http', scheme: 'bearer' }))
}

function describeSecurity(name: string, scheme: Readonly<Record<string, string>>) {
  return { security: { name, scheme }, responses: { 401: 'Missing or refused credentials' } }
}

type Attempt = (context: GuardContext) => unknown

/** @param read returns the check of the request's credentials, or `undefined` if they are missing or malformed */
function authenticate(scheme: string, { realm }: AuthOptions, read: (context: GuardContext) => Attempt | undefined) {
  const options = realm === undefined ? { scheme } : { scheme, realm }
  return async (context: GuardContext): Promise<void> => {
    const attempt = read(context)
    if (attempt === undefined) throw new AccessDenied(undefined, options)
    const identity = await identify(() => attempt(context), options)
    if (!identity) throw new AccessDenied(undefined, options)
    context.request.identity = identity
  }
}

/**
 * The check itself failed, for example because a directory is unavailable. The client gets the same 401 as for a wrong token. The
 * cause is logged and passed to the listeners of `error`, because an outage must not look like many wrong tokens.
 */
export class FailedCheck extends AccessDenied {
  override readonly name = AccessDenied.name
}

async function identify(attempt: () => unknown, options: AccessDeniedOptions): Promise<unknown> {
  try {
    return await attempt()
  } catch (cause) {
    throw cause instanceof CallError ? cause : new FailedCheck(undefined, { ...options, cause })
  }
}

/**
 * Creates a guard that admits an identity with all of the scopes. The identity lists its scopes in `scopes` (a list) or `scope`
 * (a text with spaces, as in RFC 8693). The guard must run after `authBasic` or `authBearer`. If a scope is missing, the client
 * gets 403.
 */
export function requireScopes(...scopes: readonly string[]): Guard {
  const guard = ({ request }: GuardContext): void => {
    const given = scopesOf(request)
    const missing = scopes.filter((scope) => !given.has(scope))
    if (missing.length > 0) throw new Forbidden(PROBLEM_TEXTS.scopeMissing({ scopes: missing }))
  }
  return Object.assign(guard, { responses: { 403: `Without the scope ${scopes.join(' ')}` } })
}

function scopesOf({ identity }: EndpointRequest): ReadonlySet<unknown> {
  if (typeof identity !== 'object' || identity === null) return new Set()
  if ('scopes' in identity && Array.isArray(identity.scopes)) return new Set(identity.scopes)
  return new Set('scope' in identity && typeof identity.scope === 'string' ? identity.scope.split(' ') : [])
}
