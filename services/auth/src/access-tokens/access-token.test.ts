import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { type AccessTokenClaims, signAccessToken, verifyAccessToken } from './access-token.ts'
import {
  generateSigningKey,
  importSigningKey,
  SIGNING_ALGORITHMS,
  type SigningKey,
  secretSigningKey,
} from './signing-key.ts'

const now = new Date('2026-01-02T03:04:05.678Z')
const iat = Math.floor(now.getTime() / 1_000)
const claims: AccessTokenClaims = {
  iss: 'http://localhost:8081',
  sub: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  aud: 'authenticated',
  iat,
  exp: iat + 3600,
  email: 'é@example.com',
  phone: '',
  app_metadata: { provider: 'email', providers: ['email'] },
  user_metadata: { name: '😀' },
  role: 'authenticated',
  aal: 'aal1',
  amr: [{ method: 'password', timestamp: iat }],
  session_id: '0198c9d2-7b5a-7000-8000-000000000001',
  is_anonymous: false,
}

const secret = secretSigningKey('a secret of at least 32 bytes, really', undefined)
const jwks = Object.fromEntries(
  await Promise.all(SIGNING_ALGORITHMS.map(async (alg) => [alg, await generateSigningKey(alg, alg)] as const)),
)

/** Returns a function that finds only this key. */
const only = (key: SigningKey) => (kid: string | undefined) => (kid === key.kid ? key : undefined)
const verify = (key: SigningKey, token: string, at = now) => verifyAccessToken(only(key), token, at)
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe.each(Object.entries(jwks))('a token signed with %s', (alg, privateJwk) => {
  const key = importSigningKey(privateJwk)
  const token = signAccessToken(key, claims)
  const { key_ops: _operations, ...members } = privateJwk
  // The casts remove `readonly`, which the types of jose do not have.
  const shown = (key.publicJwk ?? members) as JWK
  const theirs = () => importJWK(members as JWK, alg)

  it('uses the default algorithm of its key, unless the key names another', () => {
    const { alg: _alg, ...nameless } = privateJwk
    expect(importSigningKey(nameless).alg).toBe(alg === 'RS512' ? 'RS256' : alg)
  })

  it('signs tokens that jose verifies, and verifies tokens that jose signs', async () => {
    const { payload, protectedHeader } = await jwtVerify(token, await importJWK(shown, alg), {
      currentDate: now,
    })
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg, typ: 'JWT', kid: alg })
    const signer = new SignJWT({ ...claims, iss: String(claims.iss) }).setProtectedHeader({ alg, kid: alg })
    expect(verify(key, await signer.sign(await theirs()))).toEqual({
      verdict: 'valid',
      claims,
    })
  })

  it('refuses every changed character', () => {
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '0', '_', '.', '=', ' '), (index, character) => {
        const changed = token.slice(0, index) + character + token.slice(index + 1)
        if (changed === token) return
        expect(verify(key, changed).verdict).toBe('invalid')
      }),
      { numRuns: 50 },
    )
  })

  it('publishes no private member', () => {
    const publicMembers = Object.entries(privateJwk).filter(([name]) =>
      ['kty', 'crv', 'x', 'y', 'n', 'e'].includes(name),
    )
    const own = { kid: alg, alg, use: 'sig', key_ops: ['verify'] }
    expect(key.publicJwk).toEqual(alg === 'HS256' ? null : { ...Object.fromEntries(publicMembers), ...own })
  })
})

describe('signAccessToken', () => {
  it('writes the claims in the documented order, and a kid only where the key has one', () => {
    const [header, payload] = signAccessToken(secret, claims).split('.')
    expect(Buffer.from(header ?? '', 'base64url').toString()).toBe('{"alg":"HS256","typ":"JWT"}')
    expect(Buffer.from(payload ?? '', 'base64url').toString()).toBe(JSON.stringify(claims))
  })
})

describe('verifyAccessToken', () => {
  const token = signAccessToken(secret, claims)
  const [header = '', payload = '', signature = ''] = token.split('.')
  const signed = (body: unknown) => `${header}.${part(body)}.${secret.sign(`${header}.${part(body)}`)}`

  it.each([
    ['nothing', '', 'token is malformed: token contains an invalid number of segments'],
    ['two parts', `${header}.${payload}`, 'token is malformed: token contains an invalid number of segments'],
    ['four parts', `${token}.x`, 'token is malformed: token contains an invalid number of segments'],
    ['a header that is no JSON', `e30x.${payload}.${signature}`, 'token is malformed: could not parse its header'],
    ['a header without alg', `${part({})}.${payload}.${signature}`, 'token is malformed: could not parse its header'],
    [
      'a kid that is no text',
      `${part({ alg: 'HS256', kid: 1 })}.${payload}.${signature}`,
      'token is malformed: could not parse its header',
    ],
    ['alg none', `${part({ alg: 'none' })}.${payload}.`, 'token is unverifiable: unrecognized key or algorithm'],
    [
      'another alg than its key has',
      `${part({ alg: 'RS256' })}.${payload}.${signature}`,
      'token is unverifiable: unrecognized key or algorithm',
    ],
    [
      'an unknown kid',
      `${part({ alg: 'HS256', kid: 'x' })}.${payload}.${signature}`,
      'token is unverifiable: unrecognized key or algorithm',
    ],
    [
      'an extension that must be understood',
      (() => {
        const data = `${part({ alg: 'HS256', crit: ['x'], x: 1 })}.${payload}`
        return `${data}.${secret.sign(data)}`
      })(),
      'token is unverifiable: unknown extension',
    ],
    ['no signature', `${header}.${payload}.`, 'token signature is invalid: signature is invalid'],
    [
      'a foreign signature',
      `${header}.${payload}.${secretSigningKey('another', undefined).sign(`${header}.${payload}`)}`,
      'token signature is invalid: signature is invalid',
    ],
    ['claims that are no object', signed([1]), 'token is malformed: could not parse its claims'],
    [
      'claims that are not UTF-8',
      (() => {
        const data = `${header}.${Buffer.from('{"sub":"caf\xe9"}', 'latin1').toString('base64url')}`
        return `${data}.${secret.sign(data)}`
      })(),
      'token is malformed: could not parse its claims',
    ],
    ['an exp in the past', signed({ exp: iat - 1 }), 'token has invalid claims: token is expired'],
    ['an exp that is no number', signed({ exp: 'tomorrow' }), 'token has invalid claims: token is expired'],
    ['an nbf in the future', signed({ nbf: iat + 10 }), 'token has invalid claims: token is not valid yet'],
  ])('refuses %s', (_case, text, reason) => {
    expect(verify(secret, text)).toEqual({ verdict: 'invalid', reason })
  })

  it('accepts tokens of services, which have no exp', () => {
    expect(verify(secret, signed({ role: 'service_role' }))).toEqual({
      verdict: 'valid',
      claims: { role: 'service_role' },
    })
  })

  // ASVS 9.2.1
  it('ends a token at exp, to the second', () => {
    const at = (ms: number) => verify(secret, token, new Date((iat + 3600) * 1_000 + ms)).verdict
    expect([at(-1), at(0)]).toEqual(['valid', 'invalid'])
  })

  it('takes a token from nbf on, to the second', () => {
    const early = signed({ nbf: iat + 10 })
    const at = (ms: number) => verify(secret, early, new Date((iat + 10) * 1_000 + ms)).verdict
    expect([at(-1), at(0)]).toEqual(['invalid', 'valid'])
  })
})

describe('importSigningKey', () => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'jwk' })
  const foreign = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'jwk' })
  const { x: otherX = '', y: otherY = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  })
  // ASVS 11.6.1
  it.each([
    ['an unknown type', 'key k has no supported algorithm', { kty: 'xyz', kid: 'k' }],
    ['a curve that is not supported', 'key k has no supported algorithm', { ...foreign, kid: 'k' }],
    ['an algorithm of another type', 'key k has no supported algorithm', { ...jwks.RS256, kid: 'k', alg: 'ES256' }],
    ['an empty secret', 'key k is shorter than 32 bytes', { kty: 'oct', k: '', kid: 'k' }],
    [
      'a secret of 31 bytes',
      'key k is shorter than 32 bytes',
      { kty: 'oct', k: Buffer.alloc(31).toString('base64url'), kid: 'k' },
    ],
    ['an RSA key of 1024 bits', 'key k is shorter than 2048 bits', { ...weak, kid: 'k' }],
    ['halves of two keys', 'key k does not fit together', { ...jwks.ES256, kid: 'k', x: otherX, y: otherY }],
    [
      'a public key',
      'JWK does not contain private key material',
      { kty: 'OKP', crv: 'Ed25519', x: jwks.EdDSA?.x ?? '', kid: 'k' },
    ],
  ])('refuses %s: %s', (_case, message, key) => {
    expect(() => importSigningKey(key)).toThrow(message)
  })

  it('shows only the public part of a private key, whatever other members the JWK has', () => {
    expect(importSigningKey({ ...jwks.EdDSA, kid: 'k', x: otherX }).publicJwk).toEqual({
      crv: 'Ed25519',
      x: jwks.EdDSA?.x,
      kty: 'OKP',
      kid: 'k',
      alg: 'EdDSA',
      use: 'sig',
      key_ops: ['verify'],
    })
  })
})
