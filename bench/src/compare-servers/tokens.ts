import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { z } from 'zod'
import { accountOf } from './accounts.ts'

/** The secret of the access tokens of both servers. */
export const SECRET = 'a secret of both servers that nobody else has'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const KID = 'stub'

/** The key set of the stub provider. */
export const KEY_SET = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KID, alg: 'RS256', use: 'sig' }],
} as const

/** The stub provider, as one subject sees it. */
export interface Issuer {
  /** The address of the provider. */
  readonly realm: string
  /** Tells subjects apart. */
  readonly tag: string
}

/**
 * An id_token of the stub provider about an account, valid for an hour unless the account says otherwise.
 * @throws Error for an unknown account
 */
export function signIdToken(name: string, { realm, tag }: Issuer): string {
  const account = accountOf(name, tag)
  if (account === undefined) throw new Error(`the stub provider has no account ${name}`)
  const now = Math.floor(Date.now() / 1_000)
  const { tokenClaims = {}, profile } = account
  const claims = { iss: realm, aud: 'client', iat: now, exp: now + 3_600, ...profile, ...tokenClaims }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'RS256', typ: 'JWT', kid: KID })}.${part(claims)}`
  return `${data}.${sign('sha256', Buffer.from(data), privateKey).toString('base64url')}`
}

const Claims = z.record(z.string(), z.json())
type Claims = z.infer<typeof Claims>

/** How a token is forged: changed claims, another key, another algorithm. */
interface Forgery {
  readonly change?: (claims: Claims) => Claims
  readonly secret?: string
  readonly algorithm?: 'HS512' | 'none'
}

const UNKNOWN = '11111111-1111-4111-8111-111111111111'
const HOUR = 3_600

const FORGERIES: Readonly<Record<string, Forgery>> = {
  'alg-none': { algorithm: 'none' },
  expired: { change: (claims) => ({ ...claims, exp: 1_700_000_000 }) },
  'other-key': { secret: 'the key of somebody else, which is long enough' },
  'no-sub': { change: ({ sub: _sub, ...claims }) => claims },
  'sub-no-uuid': { change: (claims) => ({ ...claims, sub: 'x' }) },
  'unknown-sub': { change: (claims) => ({ ...claims, sub: UNKNOWN }) },
  'text-exp': { change: (claims) => ({ ...claims, exp: String(claims.exp) }) },
  'no-exp': { change: ({ exp: _exp, ...claims }) => claims },
  hs512: { algorithm: 'HS512' },
  'two-audiences': { change: (claims) => ({ ...claims, aud: ['other', 'authenticated'] }) },
  'other-audience': { change: (claims) => ({ ...claims, aud: 'other' }) },
  'no-session': { change: ({ session_id: _session, ...claims }) => claims },
  'unknown-session': { change: (claims) => ({ ...claims, session_id: UNKNOWN }) },
  'session-no-uuid': { change: (claims) => ({ ...claims, session_id: 'x' }) },
  'not-yet': { change: (claims) => ({ ...claims, nbf: Math.floor(Date.now() / 1_000) + HOUR }) },
}

/** A token like a given access token, but for what its name says. @throws Error for an unknown name */
export function forge(name: string, token: string): string {
  const forgery = FORGERIES[name]
  if (forgery === undefined) throw new Error(`there is no forged token ${name}`)
  const { change = (claims) => claims, secret = SECRET, algorithm = 'HS256' } = forgery
  const claims = Claims.parse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()))
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: algorithm, typ: 'JWT' })}.${part(change(claims))}`
  if (algorithm === 'none') return `${data}.`
  const hash = algorithm === 'HS512' ? 'sha512' : 'sha256'
  return `${data}.${createHmac(hash, secret).update(data).digest('base64url')}`
}
