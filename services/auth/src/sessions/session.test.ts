import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEncryptionKeys } from '../secrets/encrypted-secret.ts'
import {
  deriveChildToken,
  deriveRefreshTokenKey,
  deriveUpstreamTokens,
  FIRST_TOKEN_BYTES,
  firstRefreshToken,
  hashRefreshToken,
  isUpstreamAncestor,
  parseUpstreamToken,
  REFRESH_TOKEN_PATTERN,
} from './session.ts'

const key = deriveRefreshTokenKey('a secret of some length')
const token = fc
  .uint8Array({ minLength: FIRST_TOKEN_BYTES, maxLength: FIRST_TOKEN_BYTES })
  .map((bytes) => firstRefreshToken(Buffer.from(bytes)))

describe('firstRefreshToken', () => {
  // ASVS 7.2.3
  it('differs for each of its 192 bits', () => {
    expect(FIRST_TOKEN_BYTES * 8).toBe(192)
    const zeros = Buffer.alloc(FIRST_TOKEN_BYTES)
    const flipped = Array.from({ length: 192 }, (_, bit) => {
      const bytes = Buffer.from(zeros)
      bytes[bit >> 3] = 1 << (bit & 7)
      return firstRefreshToken(bytes)
    })
    expect(new Set([firstRefreshToken(zeros), ...flipped]).size).toBe(193)
  })
})

describe('deriveChildToken', () => {
  // ASVS 7.2.3
  it('is 32 characters of base64url, the same for one parent and different for another', () => {
    fc.assert(
      fc.property(token, token, (parent, other) => {
        const child = deriveChildToken(key, parent)
        expect(child).toMatch(/^[A-Za-z0-9_-]{32}$/)
        expect(deriveChildToken(key, parent)).toBe(child)
        expect(child === deriveChildToken(key, other)).toBe(parent === other)
        expect(deriveChildToken(deriveRefreshTokenKey('another secret'), parent)).not.toBe(child)
      }),
    )
  })

  it('repeats no token within 1,000 steps', () => {
    const chain = new Set<string>()
    let last = 'A'.repeat(32)
    for (let i = 0; i < 1_000; i++) {
      chain.add(last)
      last = deriveChildToken(key, last)
    }
    expect(chain.size).toBe(1_000)
  })

  it('differs for each number of each parent, and is the same for the same', () => {
    const parents = ['A'.repeat(32), 'B'.repeat(32)]
    const childrenOf = (parent: string) => [0, 1, 2, 11].map((number) => deriveChildToken(key, parent, number))
    expect(new Set(parents.flatMap(childrenOf)).size).toBe(8)
    expect(parents.map(childrenOf)).toEqual(parents.map(childrenOf))
  })

  it('is stable across releases, since issued tokens keep their next tokens', () => {
    expect(deriveChildToken(key, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')).toBe('UZ-w0xp62WEpMuyDS27qdu-FqdZTcDPK')
  })
})

describe('hashRefreshToken', () => {
  it('stores the SHA-256 digest of a token', () => {
    expect(hashRefreshToken('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })
})

describe('REFRESH_TOKEN_PATTERN', () => {
  it.each([
    ['', false],
    ['abcdefghijk', false],
    ['abcdefghijkl', true],
    ['AZaz09-_AZaz09-_AZaz09-_AZaz09-_', true],
    ['abcdefghijk=', false],
    ['abcdefghijk l', false],
    ['abcdefghijkl\n', false],
    ['abcdefghijklé', false],
  ])('takes %j for a token: %s', (text, expected) => {
    expect(REFRESH_TOKEN_PATTERN.test(text)).toBe(expected)
  })
})

const keys = createEncryptionKeys(Buffer.alloc(32, 1), [])
const session = {
  id: '11111111-2222-4333-8444-555555555555',
  hmacKey: Buffer.alloc(32, 7).toString('base64url'),
  counter: 300n,
}
const tokenAt = (counter: bigint, of = session) => deriveUpstreamTokens(keys, { ...of, counter })?.current ?? ''

describe('a refresh token of the second form of supabase/auth', () => {
  it.each([0n, 1n, 127n, 128n, 16_384n, 2n ** 62n])('names its session and its counter: %s', (counter) => {
    expect(parseUpstreamToken(tokenAt(counter))).toEqual({ sessionId: session.id, counter })
  })

  it.each(['', 'thenewtoken1', 'A'.repeat(32), 'B'.repeat(60), 'A'.repeat(200)])(
    'is not recognised in the text %s',
    (text) => {
      expect(parseUpstreamToken(text)).toBeUndefined()
    },
  )

  it.each([
    ['the first one', tokenAt(0n), true],
    ['the one before the newest', tokenAt(299n), true],
    ['the newest', tokenAt(300n), false],
    ['one that was never issued', tokenAt(301n), false],
    ['one of another key', tokenAt(1n, { ...session, hmacKey: Buffer.alloc(32, 8).toString('base64url') }), false],
    ['one of another session', tokenAt(1n, { ...session, id: '11111111-2222-4333-8444-555555555556' }), false],
    ['one with a changed counter', `${tokenAt(1n).slice(0, 22)}B${tokenAt(1n).slice(23)}`, false],
    ['another text', 'thenewtoken1', false],
  ])('is an ancestor where the session has had it before: %s', (_case, token, expected) => {
    expect(isUpstreamAncestor(keys, session, token)).toBe(expected)
  })

  it('has no ancestor where the key of the session is too short', () => {
    const short = { ...session, hmacKey: Buffer.alloc(31, 7).toString('base64url') }
    expect(isUpstreamAncestor(keys, short, tokenAt(1n))).toBe(false)
  })
})
