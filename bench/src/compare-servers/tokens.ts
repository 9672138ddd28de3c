import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { z } from 'zod'
import type { JsonObject } from './step.ts'

export const SECRET = 'a secret of both servers that nobody else has'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const KID = 'stub'

export const KEY_SET = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KID, alg: 'RS256', use: 'sig' }],
} as const

/** The stub provider for one subject. */
export interface Issuer {
  readonly realm: string
  /** Distinguishes the subjects. */
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
  'other-key': { secret: 'the key of another issuer, which is long enough' },
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

/** Forges an access token. `name` selects the change. @throws Error for an unknown name */
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

interface Account {
  /** The response of /userinfo, which also contains the claims of an id_token. */
  readonly profile: JsonObject
  /** Claims only of id_tokens. They replace the usual claims. */
  readonly tokenClaims?: JsonObject
}

const person = (sub: string, more: JsonObject = {}): Account => ({
  profile: { sub, email: `${sub}@provider.example`, email_verified: true, name: `Name of ${sub}`, ...more },
})

/** The accounts, by the code with which the stub provider returns them. */
const ACCOUNTS: Readonly<Record<string, Account>> = {
  carl: person('carl'),
  'carl-renamed': person('carl', { name: 'Another name', email: 'carl.new@provider.example' }),
  'carl-as-dora': person('carl', { email: 'dora@provider.example' }),
  dora: person('dora'),
  erik: person('erik', { preferred_username: 'erik', groups: ['/staff'] }),
  fred: person('fred'),
  gina: person('gina', { email_verified: false }),
  'gina-verified': person('gina'),
  hugo: { profile: { sub: 'hugo', name: 'Hugo' } },
  'like-ada': person('like-ada', { email: 'ada@example.com' }),
  'like-ada-unverified': person('like-ada-unverified', { email: 'ada@example.com', email_verified: false }),
  'like-bert': person('like-bert', { email: 'bert@example.com' }),
  'like-Bert': person('like-bert-2', { email: 'Bert@Example.com' }),
  'no-sub': { profile: { email: 'no-sub@provider.example', email_verified: true } },
  ida: { ...person('ida'), tokenClaims: { nonce: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' } },
  'ida-expired': { ...person('ida'), tokenClaims: { exp: 1_700_000_000 } },
  'ida-other-audience': { ...person('ida'), tokenClaims: { aud: 'other' } },
  'ida-other-issuer': { ...person('ida'), tokenClaims: { iss: 'https://issuer.example' } },
  'ida-no-email': { profile: { sub: 'ida-no-email', name: 'Ida' } },
  'ida-no-sub': { profile: { email: 'ida-no-sub@provider.example' }, tokenClaims: {} },
  jens: person('jens'),
  kurt: person('kurt'),
  lena: person('lena'),
  mona: person('mona'),
}

/** The account of the stub provider with this name, or `undefined`. @param tag identifies the subject */
export function accountOf(name: string, tag: string): Account | undefined {
  const account = ACCOUNTS[name]
  if (account === undefined) return undefined
  const { sub, email } = account.profile
  const own = {
    ...(typeof sub === 'string' && { sub: `${sub}.${tag}` }),
    ...(typeof email === 'string' && { email: email.replace('@', `@${tag}.`) }),
  }
  return { ...account, profile: { ...account.profile, ...own } }
}
