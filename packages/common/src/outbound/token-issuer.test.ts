import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { CompactSign, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { countPublishedKeys, NoKeysError, openTokenIssuer, type TokenIssuer } from './token-issuer.ts'

const START = Date.parse('2026-03-01T12:00:00Z')
const MINUTE = 60_000
const { publicKey, privateKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] }
const rulesOf = (jwksUrl: string, keptMs = 1_440 * MINUTE) => ({
  jwksUrl,
  issuer: 'https://auth.example',
  algorithms: ['ES256'],
  leewaySeconds: 30,
  keptMs,
})
const signWith = (kid: string) =>
  new SignJWT({ sub: 'u1' })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer('https://auth.example')
    .setExpirationTime(new Date(START + 2_000 * MINUTE))
    .sign(privateKey)
const token = await signWith('k1')
const strangers = await Promise.all(Array.from({ length: 20 }, (_, i) => signWith(`stranger-${i}`)))

describe('keys of the authentication service', () => {
  let answer: { readonly status?: number; readonly body?: object } | undefined
  let now: number
  let service: StubProvider
  // Create the mock for each test. An issuer of an earlier test may still report that its service has closed.
  let onReadFailure = vi.fn<(error: unknown, until: Date) => void>()
  const open = () => openTokenIssuer(rulesOf(service.url), { now: () => new Date(now), onReadFailure })
  const subjectAt = async (issuer: TokenIssuer, minutes: number) => {
    now = START + minutes * MINUTE
    return (await issuer.verify(token))?.sub
  }
  beforeEach(async () => {
    answer = { body: jwks }
    now = START
    onReadFailure = vi.fn()
    service = await startStubProvider(() => answer)
    return () => service.close()
  })

  it('are read again after ten minutes, and a withdrawn key is then refused', async () => {
    const issuer = open()
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = { body: { keys: [] } }
    expect(await subjectAt(issuer, 9.9)).toBe('u1')
    const together = await Promise.all([subjectAt(issuer, 10), subjectAt(issuer, 10)])
    expect(together).toEqual([undefined, undefined])
    expect(service.requests).toHaveLength(2)
    expect(onReadFailure).not.toHaveBeenCalled()
  })

  /** Returns the outcomes of tokens with unknown keys: first one after the other, then concurrently. */
  const verifyStrangers = async (issuer: TokenIssuer, minutes: number) => {
    now = START + minutes * MINUTE
    const verify = (each: string) => issuer.verify(each).catch((error: unknown) => error instanceof NoKeysError)
    const inTurn: unknown[] = []
    for (const each of strangers) inTurn.push(await verify(each))
    return new Set([...inTurn, ...(await Promise.all(strangers.map(verify)))])
  }

  it.each([
    ['fails', { status: 500 }],
    ['finds none', { body: jwks }],
    ['is no JWKS', { body: {} }],
  ])('are read again once a minute for unknown keys, where the try %s', async (_outcome, next) => {
    const issuer = open()
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = next
    expect(await verifyStrangers(issuer, 0.9)).toEqual(new Set([undefined]))
    expect(service.requests).toHaveLength(1)
    expect(await verifyStrangers(issuer, 1)).toEqual(new Set([undefined]))
    expect(await verifyStrangers(issuer, 1.9)).toEqual(new Set([undefined]))
    expect(service.requests).toHaveLength(2)
    expect(await verifyStrangers(issuer, 2)).toEqual(new Set([undefined]))
    expect(service.requests).toHaveLength(3)
    expect(await subjectAt(issuer, 2)).toBe('u1')
  })

  it('are read once in five seconds for all callers, while there are none', async () => {
    const issuer = open()
    answer = { status: 500 }
    expect(await verifyStrangers(issuer, 0)).toEqual(new Set([true]))
    expect(await verifyStrangers(issuer, 4.9 / 60)).toEqual(new Set([true]))
    expect(service.requests).toHaveLength(1)
    expect(await verifyStrangers(issuer, 5 / 60)).toEqual(new Set([true]))
    expect(service.requests).toHaveLength(2)
    answer = { body: jwks }
    expect(await subjectAt(issuer, 10 / 60)).toBe('u1')
  })

  it('are read once in five seconds for all callers, once the old keys are too old', async () => {
    const issuer = open()
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = { status: 500 }
    expect(await verifyStrangers(issuer, 1_440)).toEqual(new Set([true]))
    expect(await verifyStrangers(issuer, 1_440 + 4.9 / 60)).toEqual(new Set([true]))
    expect(service.requests).toHaveLength(2)
  })

  it('are read for a key that the service has added a minute after the last try', async () => {
    const issuer = open()
    const added = signWith('k2')
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = { body: { keys: [{ ...jwks.keys[0], kid: 'k2' }] } }
    now = START + MINUTE
    const together = await Promise.all([issuer.verify(await added), issuer.verify(await added)])
    expect(together.map((claims) => claims?.sub)).toEqual(['u1', 'u1'])
    expect(service.requests).toHaveLength(2)
  })

  // ASVS 16.5.2
  it('stay good for a day while they cannot be read again, and each failure is reported', async () => {
    const issuer = open()
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = { status: 500 }
    expect(await subjectAt(issuer, 10)).toBe('u1')
    expect(onReadFailure.mock.calls).toEqual([[expect.any(Error), new Date(START + 24 * 60 * MINUTE)]])
    expect(await subjectAt(issuer, 1_439)).toBe('u1')
    await expect(subjectAt(issuer, 1_440)).rejects.toThrow(NoKeysError)
    answer = { body: jwks }
    expect(await subjectAt(issuer, 1_451)).toBe('u1')
  })

  it('are read again at most once a minute after a failure, and no request waits for that', async () => {
    const issuer = open()
    await subjectAt(issuer, 0)
    answer = { status: 500 }
    await subjectAt(issuer, 10)
    // The service hangs. A caller that waited for it would wait for seconds.
    answer = undefined
    expect(await subjectAt(issuer, 10.9)).toBe('u1')
    expect(service.requests).toHaveLength(2)
    expect(await subjectAt(issuer, 11)).toBe('u1')
    await expect.poll(() => service.requests).toHaveLength(3)
    expect(onReadFailure).toHaveBeenCalledTimes(1)
  })

  it('are not used once they are stale, where the rules keep no stale keys', async () => {
    const issuer = openTokenIssuer(rulesOf(service.url, 10 * MINUTE), { now: () => new Date(now) })
    expect(await subjectAt(issuer, 0)).toBe('u1')
    answer = { status: 500 }
    expect(await subjectAt(issuer, 9.9)).toBe('u1')
    await expect(subjectAt(issuer, 10)).rejects.toThrow(NoKeysError)
    answer = { body: jwks }
    expect(await subjectAt(issuer, 10.1)).toBe('u1')
  })

  it('do not make a token good whose claims are not UTF-8', async () => {
    const claims = { sub: 'caf\xe9', iss: 'https://auth.example', exp: START / 1_000 + 60 }
    const bytes = new Uint8Array(Buffer.from(JSON.stringify(claims), 'latin1'))
    const signed = await new CompactSign(bytes).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(privateKey)
    expect(await open().verify(signed)).toBe(undefined)
  })

  it.each([[['u1']], [5], [null], [{}], ['']])('do not make a token good whose subject is %j', async (sub) => {
    const claims = { sub, iss: 'https://auth.example', exp: START / 1_000 + 60 }
    const bytes = new TextEncoder().encode(JSON.stringify(claims))
    const signed = await new CompactSign(bytes).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(privateKey)
    expect(await open().verify(signed)).toBe(undefined)
  })

  it('are counted by asking the issuer, not from memory', async () => {
    expect(await countPublishedKeys(service.url)).toBe(1)
    answer = { body: { keys: [] } }
    expect([await countPublishedKeys(service.url), await open().countKeys()]).toEqual([0, 0])
    answer = { status: 500 }
    await expect(countPublishedKeys(service.url)).rejects.toThrow('Expected 200 OK')
  })
})
