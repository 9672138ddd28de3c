import { describe, expect, it } from 'vitest'
import { hasIbanChecksum, hasIbanShape, normaliseIban } from './iban.ts'

describe('iban', () => {
  it('is stored without spaces, in upper case', () => {
    expect(normaliseIban(' dk50 0040 0440 1162 43 ')).toBe('DK5000400440116243')
  })

  it.each([
    ['XX00000000', true],
    ['XX00000', false],
    [`XX00${'0'.repeat(4)}`, true],
    [`XX00${'A'.repeat(30)}`, true],
    [`XX00${'A'.repeat(31)}`, false],
    ['X100000000', false],
    ['XXA0000000', false],
    ['XX00-00000', false],
  ])('says whether %s has the shape of an IBAN: %s', (iban, expected) => {
    expect(hasIbanShape(iban)).toBe(expected)
  })

  it.each([
    ['DK5000400440116243', true],
    ['DE89370400440532013000', true],
    ['GB82WEST12345698765432', true],
    ['GB82WEST12345698765433', false],
    ['DK5100400440116243', false],
  ])('says whether the check digits of %s are right: %s', (iban, expected) => {
    expect(hasIbanChecksum(iban)).toBe(expected)
  })
})
