import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { serviceUnavailable } from '../errors.ts'
import { countPublishedKeys, createTokenVerifier, type TokenVerifier } from './token-verifier.ts'

const { publicKey, privateKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] }
const provider = await startStubProvider(({ url }) => {
  if (url === '/moved') return { status: 302, headers: { location: '/' }, body: '' }
  return { status: 200, body: url === '/endless' ? { ...jwks, padding: 'x'.repeat(1_048_576) } : jwks }
})
afterAll(() => provider.close())

const tokenOf = (sub: string) =>
  new SignJWT({ sub })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer('https://auth.example')
    .setAudience('authenticated')
    .setExpirationTime('1h')
    .sign(privateKey)
const token = await tokenOf('u1')
const rulesOf = (jwksUrl: string) => ({
  jwksUrl,
  issuer: 'https://auth.example',
  audience: 'authenticated',
  adminRoles: [],
  roleScopes: new Map(),
})
const verifierOf = (jwksUrl: string) => createTokenVerifier(rulesOf(jwksUrl), { now: () => new Date() })

describe('createTokenVerifier', () => {
  // ASVS 13.2.4
  it('fetches the keys from the address in the settings', async () => {
    expect((await verifierOf(provider.url).verify(token))?.actor).toBe('u1')
    expect(await verifierOf(provider.url).countKeys()).toBe(1)
    expect(await countPublishedKeys(provider.url)).toBe(1)
  })

  it.each([
    ['holds U+0000', 'u\0'],
    ['holds half a surrogate pair', 'u\ud83d'],
    ['is longer than 255 characters', 'u'.repeat(256)],
    ['is empty', ''],
  ])('refuses a token whose sub %s', async (_case, sub) => {
    expect(await verifierOf(provider.url).verify(await tokenOf(sub))).toBeUndefined()
  })

  it('accepts a sub of 255 characters', async () => {
    const sub = 'u'.repeat(255)
    expect((await verifierOf(provider.url).verify(await tokenOf(sub)))?.actor).toBe(sub)
  })

  // ASVS 1.3.6
  it.each([
    // Without the guard this reaches the stub: on Linux it is another name of loopback.
    ['an address that the guarded client refuses', provider.url.replace('127.0.0.1', '0.0.0.0')],
    ['an answer of endless length', `${provider.url}/endless`],
    ['a redirect', `${provider.url}/moved`],
  ])('503: takes no keys from %s', async (_case, jwksUrl) => {
    await expect(verifierOf(jwksUrl).verify(token)).rejects.toEqual(serviceUnavailable())
  })
})

describe('keys of the authentication service', () => {
  const START = Date.parse('2026-03-01T12:00:00Z')
  const MINUTE = 60_000
  let answer: { readonly status?: number; readonly body?: object } | undefined
  let now: number
  let issuer: StubProvider
  // A verifier that a test has left may still report that the issuer has closed.
  let onReadFailure = vi.fn<(error: unknown, until: Date) => void>()
  const openVerifier = () => createTokenVerifier(rulesOf(issuer.url), { now: () => new Date(now), onReadFailure })
  const actorAt = async (verifier: TokenVerifier, minutes: number) => {
    now = START + minutes * MINUTE
    return (await verifier.verify(token))?.actor
  }
  beforeEach(async () => {
    answer = { body: jwks }
    now = START
    onReadFailure = vi.fn()
    issuer = await startStubProvider(() => answer)
    return () => issuer.close()
  })

  it('are read again after ten minutes, and a withdrawn key is then refused', async () => {
    const verifier = openVerifier()
    expect(await actorAt(verifier, 0)).toBe('u1')
    answer = { body: { keys: [] } }
    expect(await actorAt(verifier, 9.9)).toBe('u1')
    const together = await Promise.all([actorAt(verifier, 10), actorAt(verifier, 10)])
    expect(together).toEqual([undefined, undefined])
    expect(issuer.requests).toHaveLength(2)
    expect(onReadFailure).not.toHaveBeenCalled()
  })

  // ASVS 16.5.2
  it('stay good for a day while they cannot be read again, and each failure is reported', async () => {
    const verifier = openVerifier()
    expect(await actorAt(verifier, 0)).toBe('u1')
    answer = { status: 500 }
    expect(await actorAt(verifier, 10)).toBe('u1')
    expect(onReadFailure.mock.calls).toEqual([[expect.any(Error), new Date(START + 24 * 60 * MINUTE)]])
    expect(await actorAt(verifier, 1_439)).toBe('u1')
    await expect(actorAt(verifier, 1_440)).rejects.toEqual(serviceUnavailable())
    answer = { body: jwks }
    expect(await actorAt(verifier, 1_451)).toBe('u1')
  })

  it('are read again at most once a minute after a failure, and no request waits for that', async () => {
    const verifier = openVerifier()
    await actorAt(verifier, 0)
    answer = { status: 500 }
    await actorAt(verifier, 10)
    // The issuer hangs: whoever waited for it would wait for seconds.
    answer = undefined
    expect(await actorAt(verifier, 10.9)).toBe('u1')
    expect(issuer.requests).toHaveLength(2)
    expect(await actorAt(verifier, 11)).toBe('u1')
    await expect.poll(() => issuer.requests).toHaveLength(3)
    expect(onReadFailure).toHaveBeenCalledTimes(1)
  })
})
