import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { describe, expect, it } from 'vitest'
import {
  hasIbanChecksum,
  hasIbanShape,
  IBAN_DATA,
  isEeaIban,
  isPayableIban,
  isSepaIban,
  normaliseIban,
} from './iban.ts'

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

describe('an IBAN that money can be sent to', () => {
  // Invented accounts in the ten countries that joined the IBAN registry last.
  it.each([
    ['BI5010001000020000012345678'],
    ['DJ6900010000110001234567812'],
    ['SO911000001000000123456'],
    ['RU0404000000040800000000012345678'],
    ['NI82TEST00000000000123456789'],
    ['MN541234000000567890'],
    ['FK51TT000000123456'],
    ['OM81099TRESTLE000123456'],
    ['YE62TEST0001TRESTLE00012345678'],
    ['HN24TEST00000000000123456789'],
    ['DE89370400440532013000'],
    ['MT84MALT011000012345MTLCAST001S'],
    ['XK051212012345678906'],
  ])('has length, form and check digits of its country: %s', (iban) => {
    expect(isPayableIban(iban)).toBe(true)
  })

  it.each([
    ['is short', 'DE5137040044053201300'],
    ['is of no country', 'XX0912345678'],
    ['has letters for digits', 'DE89370400440532O13000'],
    ['has wrong check digits', 'DE88370400440532013000'],
    ['is of a territory, whose accounts are French', 'GF4120041010050500013M02606'],
    ['is long', 'DK50004004401162430'],
    ['is empty', ''],
  ])('is no account that %s', (_, iban) => {
    expect(isPayableIban(iban)).toBe(false)
  })

  it.each([
    ['RS35260005601001611379', true],
    ['CH9300762011623852957', true],
    ['GI75NWBK000000007099453', true],
    ['TR330006100519786457841326', false],
    ['UA213223130000026007233566001', false],
    ['FO6264600001631634', false],
  ])('%s is in SEPA: %s', (iban, expected) => {
    expect(isSepaIban(iban)).toBe(expected)
  })

  it.each([
    ['DK5000400440116243', true],
    ['NO9386011117947', true],
    ['CH9300762011623852957', false],
    ['GB82WEST12345698765432', false],
    ['TR330006100519786457841326', false],
  ])('%s is in the EEA: %s', (iban, expected) => {
    expect(isEeaIban(iban)).toBe(expected)
  })
})

describe('IBAN_DATA', () => {
  it('names the release of the library that is installed, whose date stands beside it', () => {
    const { version } = JSON.parse(readFileSync(findPackageJSON('ibantools', import.meta.url) ?? '', 'utf8'))
    expect(IBAN_DATA.name).toBe(`ibantools ${version}`)
  })
})
