import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createKeySets, type KeySets } from './key-sets.ts'

const START_MS = Date.parse('2026-03-01T12:00:00Z')
const { publicKey, privateKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] }
const signWith = (kid: string) => new SignJWT({ sub: 'u1' }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey)
const token = await signWith('k1')
const strangers = await Promise.all(Array.from({ length: 20 }, (_, at) => signWith(`stranger-${at}`)))
const now = () => new Date()
const atMs = (milliseconds: number) => vi.setSystemTime(START_MS + milliseconds)

describe('keys of a provider', () => {
  let answer: { readonly status?: number; readonly body?: object }
  let provider: StubProvider
  let keySets: KeySets
  beforeEach(async () => {
    // The library reads the system clock.
    vi.useFakeTimers({ toFake: ['Date'] })
    atMs(0)
    answer = { body: jwks }
    provider = await startStubProvider(() => answer)
    keySets = createKeySets(createOutbound(['127.0.0.1']), now)
    return async () => {
      vi.useRealTimers()
      await provider.close()
    }
  })
  /** Returns the subject of a token, or the error code of its refusal. */
  const verify = async (each: string) => {
    try {
      return (await jwtVerify(each, await keySets.find({ jwksUrl: provider.url }))).payload.sub
    } catch (error) {
      return error instanceof Error && 'code' in error ? error.code : error
    }
  }
  /** Verifies tokens with unknown keys, first one after the other and then at the same time. */
  const verifyStrangers = async () => {
    const inTurn: unknown[] = []
    for (const each of strangers) inTurn.push(await verify(each))
    return new Set([...inTurn, ...(await Promise.all(strangers.map(verify)))])
  }

  it('are read once in five seconds while no key can be read', async () => {
    answer = { status: 500 }
    expect(await verifyStrangers()).toEqual(new Set(['ERR_JOSE_GENERIC']))
    atMs(4_999)
    expect(await verifyStrangers()).toEqual(new Set(['ERR_JOSE_GENERIC']))
    expect(provider.requests).toHaveLength(1)
    atMs(5_000)
    answer = { body: jwks }
    expect([await verify(token), provider.requests.length]).toEqual(['u1', 2])
  })

  it('are read once by tokens that arrive together', async () => {
    const verified = await Promise.all([token, token, token].map(verify))
    expect([verified, provider.requests.length]).toEqual([['u1', 'u1', 'u1'], 1])
  })

  it('are read once in five seconds for unknown keys after a failure, and known keys stay good', async () => {
    expect(await verify(token)).toBe('u1')
    answer = { status: 500 }
    atMs(31_000)
    expect(await verifyStrangers()).toEqual(new Set(['ERR_JOSE_GENERIC']))
    expect([await verify(token), provider.requests.length]).toEqual(['u1', 2])
    atMs(36_000)
    expect(await verifyStrangers()).toEqual(new Set(['ERR_JOSE_GENERIC']))
    expect([await verify(token), provider.requests.length]).toEqual(['u1', 3])
  })

  it('are discovered once in five seconds while the provider cannot be asked', async () => {
    const lookups: string[] = []
    const outbound = createOutbound([], async ({ host }) => {
      lookups.push(host)
      throw new Error('no such host')
    })
    const sets = createKeySets(outbound, now)
    const find = () => sets.find({ discoveredAt: 'https://provider.example' })
    for (const at of [0, 4_999, 5_000]) {
      atMs(at)
      await expect(find()).rejects.toThrow()
    }
    expect(lookups).toEqual(['provider.example', 'provider.example'])
  })
})
