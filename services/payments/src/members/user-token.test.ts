import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { serviceUnavailable } from '../errors.ts'
import { createUserTokenVerifier } from './user-token.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const ISSUER = 'https://auth.example'
const { publicKey, privateKey } = await generateKeyPair('ES256')
const stranger = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] }
let status = 200
const provider = await startStubProvider(() => ({ status, body: status === 200 ? jwks : {} }))
let verify: ReturnType<typeof createUserTokenVerifier>

afterAll(() => provider.close())
beforeEach(() => {
  status = 200
  verify = createUserTokenVerifier({ jwksUrl: provider.url, issuer: ISSUER, now: () => NOW })
})

const seconds = NOW.getTime() / 1_000
const claims: JWTPayload = { iss: ISSUER, sub: 'u1', exp: seconds + 60, email: 'John@example.com' }

function sign(payload: JWTPayload, { key = privateKey, alg = 'ES256', kid = 'k1' } = {}): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(key)
}

describe('createUserTokenVerifier', () => {
  it.each<[object]>([[{}], [{ email_verified: true }], [{ is_anonymous: false }], [{ exp: seconds - 4 }]])(
    'accepts a token with %j',
    async (changes) => {
      expect(await verify(await sign({ ...claims, ...changes }))).toBe('John@example.com')
    },
  )

  // ASVS 9.2.1
  it.each<[string, object]>([
    ['another issuer', { iss: 'https://other.example' }],
    ['no issuer', { iss: undefined }],
    ['no subject', { sub: undefined }],
    ['no end', { exp: undefined }],
    ['an end that is over', { exp: seconds - 6 }],
    ['a beginning to come', { nbf: seconds + 6 }],
    ['no address', { email: undefined }],
    ['an empty address', { email: '' }],
    ['no text for an address', { email: ['john@example.com'] }],
    ['an address that is not verified', { email_verified: false }],
    ['nobody behind it', { is_anonymous: true }],
  ])('refuses a token with %s', async (_, changes) => {
    expect(await verify(await sign({ ...claims, ...changes }))).toBeUndefined()
  })

  // ASVS 9.2.3
  it.each<[string, object, string | undefined]>([
    ['its audience', { aud: 'payments' }, 'John@example.com'],
    ['its audience among others', { aud: ['shop', 'payments'] }, 'John@example.com'],
    ['another audience', { aud: 'shop' }, undefined],
    ['an audience in another case', { aud: 'Payments' }, undefined],
    ['no audience', {}, undefined],
    ['an empty list of audiences', { aud: [] }, undefined],
  ])('where the audience is set, judges a token with %s', async (_, changes, email) => {
    const options = { jwksUrl: provider.url, issuer: ISSUER, audience: 'payments', now: () => NOW }
    expect(await createUserTokenVerifier(options)(await sign({ ...claims, ...changes }))).toBe(email)
  })

  it('accepts tokens for any audience where none is set', async () => {
    expect(await verify(await sign({ ...claims, aud: 'shop' }))).toBe('John@example.com')
  })

  // ASVS 9.1.1, 9.1.2, 9.1.3
  it('refuses a token that is signed by another key, by a shared secret, or not at all', async () => {
    expect(await verify(await sign(claims, { key: stranger.privateKey }))).toBeUndefined()
    expect(await verify(await sign(claims, { kid: 'k2' }))).toBeUndefined()
    const secret = new TextEncoder().encode(JSON.stringify(jwks.keys[0]))
    const shared = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(secret)
    expect(await verify(shared)).toBeUndefined()
    const parts = (await sign(claims)).split('.')
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const token of ['', 'x', `${unsigned}.${parts[1]}.`, `${parts[0]}.${parts[1]}.`]) {
      expect(await verify(token)).toBeUndefined()
    }
  })

  // ASVS 9.1.3
  it('refuses a token that contains its key, or the URL of its key', async () => {
    const jwk = await exportJWK(stranger.publicKey)
    const elsewhere = await startStubProvider(() => ({
      status: 200,
      body: { keys: [{ ...jwk, kid: 'k1', alg: 'ES256' }] },
    }))
    for (const header of [{ jwk }, { jku: elsewhere.url }, { x5u: elsewhere.url }]) {
      const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header })
      expect(await verify(await token.sign(stranger.privateKey))).toBeUndefined()
    }
    expect(elsewhere.requests).toEqual([])
    await elsewhere.close()
  })

  // ASVS 16.5.2, 16.5.3
  it('503: answers when the keys cannot be fetched, because the token may be good', async () => {
    status = 500
    await expect(verify(await sign(claims))).rejects.toEqual(serviceUnavailable())
  })
  it('503: fetches keys only through the guarded client: from permitted addresses, and with a limited length', async () => {
    const verifyFrom = async (jwksUrl: string) =>
      createUserTokenVerifier({ jwksUrl, issuer: ISSUER, now: () => NOW })(await sign(claims))
    // On Linux, `0.0.0.0` also reaches the loopback interface. Without the guard, this request reaches the stub.
    await expect(verifyFrom(provider.url.replace('127.0.0.1', '0.0.0.0'))).rejects.toEqual(serviceUnavailable())
    const endless = await startStubProvider(() => ({ status: 200, body: { ...jwks, padding: 'x'.repeat(1_048_576) } }))
    await expect(verifyFrom(endless.url)).rejects.toEqual(serviceUnavailable())
    await endless.close()
  })
})
