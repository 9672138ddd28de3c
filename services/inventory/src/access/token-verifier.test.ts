import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, describe, expect, it } from 'vitest'
import { serviceUnavailable } from '../errors.ts'
import { createTokenVerifier } from './token-verifier.ts'

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
    // On Linux, this address is another name of loopback. Without the guard, the request reaches the stub.
    ['an address that the guarded client refuses', provider.url.replace('127.0.0.1', '0.0.0.0')],
    ['an answer of endless length', `${provider.url}/endless`],
    ['a redirect', `${provider.url}/moved`],
  ])('503: takes no keys from %s', async (_case, jwksUrl) => {
    await expect(verifierOf(jwksUrl).verify(token)).rejects.toEqual(serviceUnavailable())
  })
})
