import { describe, expect, it } from 'vitest'
import { findTotpStep, generateTotpSecret, totpUri } from './enrolment.ts'

/** The secret of RFC 6238, appendix B: the ASCII text 12345678901234567890. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const at = (seconds: number) => new Date(seconds * 1_000)

describe('findTotpStep', () => {
  it.each([
    // The test vectors of the appendix, with their last six digits.
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('%d s: accepts %s in its own step and the two next to it only', (seconds, code) => {
    const step = Math.floor(seconds / 30)
    expect(findTotpStep(SECRET, code, at(step * 30))).toBe(step)
    expect(findTotpStep(SECRET, code, at(step * 30 + 29.999))).toBe(step)
    expect(findTotpStep(SECRET, code, at(step * 30 - 30))).toBe(step)
    expect(findTotpStep(SECRET, code, at(step * 30 + 59.999))).toBe(step)
    expect(findTotpStep(SECRET, code, at(step * 30 - 30.001))).toBeUndefined()
    expect(findTotpStep(SECRET, code, at(step * 30 + 60))).toBeUndefined()
  })

  it.each(['', '28708', '2870820', 'x87082', ' 287082', '287082 ', '２８７０８２'])('refuses %j', (code) => {
    expect(findTotpStep(SECRET, code, at(59))).toBeUndefined()
  })
})

describe('generateTotpSecret', () => {
  // ASVS 6.5.3
  it('is the base32 of twenty random bytes', () => {
    expect(generateTotpSecret((size) => Buffer.from('12345678901234567890').subarray(0, size))).toBe(SECRET)
  })
})

describe('totpUri', () => {
  it('names issuer and account, escaped and without a colon of their own', () => {
    expect(totpUri({ issuer: 'example.com', account: 'ann@example.com', secret: SECRET })).toBe(
      `otpauth://totp/example.com:ann%40example.com?algorithm=SHA1&digits=6&issuer=example.com&period=30&secret=${SECRET}`,
    )
    expect(totpUri({ issuer: 'A & B: co?', account: '14155550100', secret: SECRET })).toBe(
      `otpauth://totp/A%20%26%20B-%20co%3F:14155550100?algorithm=SHA1&digits=6&issuer=A%20%26%20B-%20co%3F&period=30&secret=${SECRET}`,
    )
  })
})
