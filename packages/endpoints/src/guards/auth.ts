import { AccessDenied, CallError, Forbidden } from '../errors.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import type { Guard, GuardContext } from './guard.ts'

/** Whatever is true names the caller, and becomes `request.identity`; anything else refuses. */
type Check<T extends readonly unknown[]> = (...given: [...T, context: GuardContext]) => unknown

export interface AuthOptions {
  readonly realm?: string
}

/** Lets those in whose user name and password `check` knows. Compare secrets in constant time. */
export function authBasic(check: Check<[username: string, password: string]>, options: AuthOptions = {}): Guard {
  const guard = authenticate('Basic', options, ({ request }) => {
    const { username, password } = request.auth() ?? {}
    if (username === undefined || password === undefined) return undefined
    return (context) => check(username, password, context)
  })
  return Object.assign(guard, described('basic', { type: 'http', scheme: 'basic' }))
}

/** Lets those in whose token `check` knows. */
export function authBearer(check: Check<[token: string]>, options: AuthOptions = {}): Guard {
  const guard = authenticate('Bearer', options, ({ request }) => {
    const credentials = request.auth()
    return credentials?.scheme === 'bearer' ? (context) => check(credentials.token, context) : undefined
  })
  return Object.assign(guard, described('bearer', { type: 'http', scheme: 'bearer' }))
}

function described(name: string, scheme: Readonly<Record<string, string>>) {
  return { security: { name, scheme }, responses: { 401: 'Missing or refused credentials' } }
}

type Attempt = (context: GuardContext) => unknown

/** `read` makes the attempt from the request; undefined when the credentials are missing or malformed. */
function authenticate(scheme: string, { realm }: AuthOptions, read: (context: GuardContext) => Attempt | undefined) {
  const denied = (cause?: unknown): AccessDenied =>
    new AccessDenied(undefined, { scheme, cause, ...(realm === undefined ? {} : { realm }) })
  return async (context: GuardContext): Promise<void> => {
    const attempt = read(context)
    if (attempt === undefined) throw denied()
    const identity = await outcome(() => attempt(context), denied)
    if (!identity) throw denied()
    context.request.identity = identity
  }
}

async function outcome(attempt: () => unknown, denied: (cause: unknown) => AccessDenied): Promise<unknown> {
  try {
    return await attempt()
  } catch (error) {
    throw error instanceof CallError ? error : denied(error)
  }
}

/**
 * Lets those in whose identity has all of the scopes: `scopes`, a list, or `scope`, a text with spaces as in RFC 8693.
 * It stands behind `authBasic` or `authBearer`.
 */
export function requireScopes(...scopes: readonly string[]): Guard {
  const guard = ({ request }: GuardContext): void => {
    const given = scopesOf(request)
    const missing = scopes.filter((scope) => !given.has(scope))
    if (missing.length > 0) throw new Forbidden(`This needs the scope ${missing.join(' ')}`)
  }
  return Object.assign(guard, { responses: { 403: `Without the scope ${scopes.join(' ')}` } })
}

function scopesOf({ identity }: EndpointRequest): ReadonlySet<unknown> {
  if (typeof identity !== 'object' || identity === null) return new Set()
  if ('scopes' in identity && Array.isArray(identity.scopes)) return new Set(identity.scopes)
  return new Set('scope' in identity && typeof identity.scope === 'string' ? identity.scope.split(' ') : [])
}
