import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import fc from 'fast-check'
import { importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { type AccessTokenClaims, signAccessToken, verifyAccessToken } from './access-token.ts'
import { importSigningKey, type PrivateJwk, type SigningKey, secretSigningKey } from './signing-key.ts'

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
const jwks: Readonly<Record<string, PrivateJwk>> = {
  RS256: jwk('RS256', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })),
  RS512: jwk(
    'RS512',
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
    'RS512',
  ),
  ES256: jwk('ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })),
  ES512: jwk('ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey.export({ format: 'jwk' })),
  EdDSA: jwk('EdDSA', generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
  HS256: jwk('HS256', { kty: 'oct', k: Buffer.alloc(32, 7).toString('base64url') }),
}

function jwk(kid: string, key: JsonWebKey, alg?: string): PrivateJwk {
  return { ...key, kid, ...(alg === undefined ? {} : { alg }) }
}

/** Knows exactly one key. */
const only = (key: SigningKey) => (kid: string | undefined) => (kid === key.kid ? key : undefined)
const verify = (key: SigningKey, token: string, at = now) => verifyAccessToken(only(key), token, at)
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe.each(Object.entries(jwks))('%s', (alg, privateJwk) => {
  const key = importSigningKey(privateJwk)
  const token = signAccessToken(key, claims)
  const { key_ops: _operations, ...members } = privateJwk
  // The casts drop `readonly`, which jose does not know.
  const shown = (key.publicJwk ?? members) as JWK
  const theirs = () => importJWK(members as JWK, alg)

  it('is the default of its key, or the one it names', () => {
    expect(key.alg).toBe(alg)
  })

  it('signs what jose verifies, and verifies what jose signs', async () => {
    const { payload, protectedHeader } = await jwtVerify(token, await importJWK(shown, alg), {
      currentDate: now,
    })
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg, typ: 'JWT', kid: alg })
    const signer = new SignJWT({ ...claims }).setProtectedHeader({ alg, kid: alg })
    expect(verify(key, await signer.sign(await theirs()))).toEqual({
      verdict: 'valid',
      claims,
    })
  })

  it('refuses every changed character', () => {
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '0', '_', '.', '=', ' '), (index, character) => {
        const changed = token.slice(0, index) + character + token.slice(index + 1)
        // The last character of a signature has unused bits: another spelling of the same signature is no forgery.
        if (changed === token || index === token.length - 1) return
        expect(verify(key, changed).verdict).toBe('invalid')
      }),
      { numRuns: 50 },
    )
  })

  it('shows nothing private', () => {
    const members = Object.keys(key.publicJwk ?? {})
    expect(members.filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].includes(name))).toEqual([])
    if (alg === 'HS256') expect(key.publicJwk).toBeNull()
    else expect(key.publicJwk).toMatchObject({ kid: alg, alg, use: 'sig', key_ops: ['verify'], kty: privateJwk.kty })
  })
})

describe('signAccessToken', () => {
  it('writes the claims in the order of the contract, and no kid where there is none', () => {
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
    ['an exp in the past', signed({ exp: iat - 1 }), 'token has invalid claims: token is expired'],
    ['an exp that is no number', signed({ exp: 'tomorrow' }), 'token has invalid claims: token is expired'],
    ['an nbf in the future', signed({ nbf: iat + 10 }), 'token has invalid claims: token is not valid yet'],
  ])('refuses %s', (_case, text, reason) => {
    expect(verify(secret, text)).toEqual({ verdict: 'invalid', reason })
  })

  it('takes tokens without exp: those of services', () => {
    expect(verify(secret, signed({ role: 'service_role' }))).toEqual({
      verdict: 'valid',
      claims: { role: 'service_role' },
    })
  })

  it('ends a token at exp, to the second', () => {
    const at = (ms: number) => verify(secret, token, new Date((iat + 3600) * 1_000 + ms)).verdict
    expect([at(-1), at(0)]).toEqual(['valid', 'invalid'])
  })
})

describe('importSigningKey', () => {
  it.each([
    ['an unknown type', { kty: 'xyz', kid: 'k' }],
    [
      'a curve that is not supported',
      jwk('k', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'jwk' })),
    ],
    ['an algorithm of another type', { ...jwks.RS256, kid: 'k', alg: 'ES256' }],
    ['an empty secret', { kty: 'oct', k: '', kid: 'k' }],
    ['a public key', { kty: 'OKP', crv: 'Ed25519', x: jwks.EdDSA?.x ?? '', kid: 'k' }],
  ])('refuses %s', (_case, key) => {
    expect(() => importSigningKey(key)).toThrow()
  })
})
