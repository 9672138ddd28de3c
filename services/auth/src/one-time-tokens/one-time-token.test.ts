import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateCode, generateLinkToken, hashCode, isPkceToken } from './one-time-token.ts'

const fixed = (byte: number) => (size: number) => Buffer.alloc(size, byte)

describe('generateLinkToken', () => {
  // ASVS 6.5.3
  it('makes 56 hexadecimal digits, with a prefix in a PKCE flow', () => {
    expect(generateLinkToken(fixed(0xab), 'implicit')).toBe('ab'.repeat(28))
    expect(generateLinkToken(fixed(0xab), 'pkce')).toBe(`pkce_${'ab'.repeat(28)}`)
    expect(isPkceToken(generateLinkToken(randomBytes, 'pkce'))).toBe(true)
    expect(isPkceToken(generateLinkToken(randomBytes, 'implicit'))).toBe(false)
  })
})

describe('generateCode', () => {
  // ASVS 6.5.3, 6.5.4
  it('makes exactly the requested number of digits with leading zeros', () => {
    expect(generateCode(fixed(0), 6)).toBe('000000')
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.integer({ min: 6, max: 10 }), (bytes, digits) =>
        new RegExp(`^[0-9]{${digits}}$`).test(generateCode(() => Buffer.from(bytes), digits)),
      ),
    )
  })

  it('takes the remainder of the random number', () => {
    expect(generateCode((size) => Buffer.alloc(size).fill(0xff), 6)).toBe(
      (0xffffffffffffffffffffffffffffffffn % 1_000_000n).toString().padStart(6, '0'),
    )
  })
})

describe('hashCode', () => {
  it('gives another hash for another key, salt, address or code', () => {
    const hashes = [
      hashCode(fixed(1)(32), fixed(2)(16), 'a@b.c', '123456'),
      hashCode(fixed(9)(32), fixed(2)(16), 'a@b.c', '123456'),
      hashCode(fixed(1)(32), fixed(9)(16), 'a@b.c', '123456'),
      hashCode(fixed(1)(32), fixed(2)(16), 'a@b.d', '123456'),
      hashCode(fixed(1)(32), fixed(2)(16), 'a@b.c', '123457'),
      hashCode(fixed(1)(32), fixed(2)(16), 'a@b.c1', '23456'),
    ].map((hash) => hash.toString('hex'))
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})
