import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { generateCodeSet, hashRecoveryCode, normaliseRecoveryCode } from './recovery-code-repository.ts'

describe('generateCodeSet', () => {
  it('makes ten different codes of sixteen letters and digits', () => {
    const codes = generateCodeSet(randomBytes)
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^[a-z2-9]{16}$/)
  })

  // ASVS 6.5.3
  it('uses every letter about as often', () => {
    const letters = Array.from({ length: 200 }, () => generateCodeSet(randomBytes).join('')).join('')
    const counts = Map.groupBy(letters, (letter) => letter)
    expect(counts.size).toBe(34)
    // The expected number of each letter is 941, with a standard deviation of 30.
    for (const { length } of counts.values()) expect(Math.abs(length - 941)).toBeLessThan(200)
  })

  it('makes the same codes from the same random bytes', () => {
    expect(generateCodeSet((size) => Buffer.alloc(size))).toEqual(Array(10).fill('a'.repeat(16)))
    expect(generateCodeSet((size) => Buffer.alloc(size, 0xff))[0]).not.toBe('a'.repeat(16))
  })
})

describe('normaliseRecoveryCode', () => {
  it.each([
    ['k4m9x7qp2ab8ht3z', 'k4m9x7qp2ab8ht3z'],
    ['K4M9-X7QP-2AB8-HT3Z', 'k4m9x7qp2ab8ht3z'],
    [' K4M9 x7qp\t2ab8\nht3z ', 'k4m9x7qp2ab8ht3z'],
    ['K٤M９-X۷QP-２AB８-HT３Z', 'k4m9x7qp2ab8ht3z'],
    ['', ''],
  ])('reads %j as the code %j, whatever its case, hyphens and spaces', (typed, code) => {
    expect(normaliseRecoveryCode(typed)).toBe(code)
  })
})

describe('hashRecoveryCode', () => {
  // ASVS 6.5.2
  it('gives another hash for another key, factor or code', () => {
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const hashes = [
      hashRecoveryCode(one, 'factor', 'code'),
      hashRecoveryCode(other, 'factor', 'code'),
      hashRecoveryCode(one, 'another', 'code'),
      hashRecoveryCode(one, 'factor', 'other'),
    ].map((hash) => hash.toString('hex'))
    expect(new Set(hashes).size).toBe(4)
    expect(hashRecoveryCode(one, 'factor', 'code').toString('hex')).toBe(hashes[0])
  })
})
