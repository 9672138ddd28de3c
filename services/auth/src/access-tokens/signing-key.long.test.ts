import { generateKeyPairSync, sign, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromDer, toDer } from './signing-key.ts'

const CURVES = [
  ['P-256', 32, 'sha256'],
  ['P-521', 66, 'sha512'],
] as const

describe.each(CURVES)('conversion of %s signatures', (namedCurve, size, hash) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const dsaEncoding = 'ieee-p1363'

  it('converts signatures of OpenSSL to JWS signatures that verify', () => {
    for (let round = 0; round < 300; round++) {
      const data = Buffer.from(String(round))
      const joined = fromDer(sign(hash, data, privateKey), size)
      expect(joined).toHaveLength(2 * size)
      expect(verify(hash, data, { key: publicKey, dsaEncoding }, joined)).toBe(true)
    }
  })

  it('converts JWS signatures to signatures that OpenSSL verifies', () => {
    for (let round = 0; round < 300; round++) {
      const data = Buffer.from(String(round))
      const der = toDer(sign(hash, data, { key: privateKey, dsaEncoding }), size)
      expect(der && verify(hash, data, publicKey, der)).toBe(true)
    }
  })

  it('returns the same signature after both conversions, for any integers', () => {
    const integer = fc.oneof(fc.uint8Array({ minLength: size, maxLength: size }), sparse(size))
    fc.assert(
      fc.property(integer, integer, (r, s) => {
        const joined = Buffer.from([...r, ...s])
        expect(fromDer(toDer(joined, size) ?? Buffer.alloc(0), size)).toEqual(joined)
      }),
    )
  })

  it.each([0, 1, 2 * size - 1, 2 * size + 1])('refuses %i bytes', (length) => {
    expect(toDer(Buffer.alloc(length), size)).toBeUndefined()
  })
})

it('writes integers in the shortest form of DER', () => {
  const joined = Buffer.alloc(64)
  joined[31] = 0x7f
  joined[63] = 0x80
  expect(toDer(joined, 32)?.toString('hex')).toBe('300702017f02020080')
  expect(toDer(Buffer.alloc(64), 32)?.toString('hex')).toBe('3006020100020100')
})

/** Generates small integers: leading zeros, and a few bytes at the end. */
function sparse(size: number) {
  return fc.uint8Array({ maxLength: 3 }).map((end) => Uint8Array.from([...Array(size - end.length).fill(0), ...end]))
}
