import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  deriveChildToken,
  deriveRefreshTokenKey,
  FIRST_TOKEN_BYTES,
  firstRefreshToken,
  hashRefreshToken,
  REFRESH_TOKEN_PATTERN,
} from './refresh-token.ts'

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
