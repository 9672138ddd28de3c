import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digitsIn, hasCheckDigit, schemeOf } from './card-number.ts'
import { hasCardNumber, hasCardNumberDeep } from './clear-number.ts'

/** Appends the Luhn check digit, computed by its definition: every second digit from the right is doubled. */
function withCheckDigit(digits: string): string {
  const sum = [...digits]
    .toReversed()
    .flatMap((digit, at) => (at % 2 === 0 ? [...String(Number(digit) * 2)] : [digit]))
    .reduce((total, digit) => total + Number(digit), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

describe('hasCardNumber', () => {
  it.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111 1111\u00a01111\u20111111',
    '41 11 11 11 11 11 11 11',
    'card: 5555555555554444.',
    'Visa (4222 2222 2222 2)',
    'Visa 4222-222-222-222',
    'order 2026-11-20 4222 2222 2222 2',
    '6759 6498 26430',
    '5018 0000 00007',
    '378282246310005',
    '3782 822463 10005',
    '30569309025904',
    '6011111111111117',
    '3530111333300000',
    '6205500000000000004',
    '4111111111111111 12/29 123',
    '12/29 4111 1111 1111 1111',
    'order 2026-11-20 4111111111111111',
    'REF12 4111111111111111',
    '４１１１１１１１１１１１１１１１',
    '٤١١١١١١١١١١١١١١١',
    '⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹',
    '④①①①①①①①①①①①①①①①',
    '₄₁₁₁ ₁₁₁₁ ₁₁₁₁ ₁₁₁₁',
    '4111\u034f1111\ufe0f1111\u03011111',
    '4\u03011\u03011\u03011111111111111',
    '4111\u00011111\u00011111\u00011111',
    '4111\ue0001111\ue0001111\ue0001111',
    'https://shop.example/pay/4111111111111111?x=1',
    'https://shop.example/?card=4111+1111+1111+1111',
    'https://shop.example/?card=4111%201111%201111%201111',
    '?n=4111+1111+1111+1111',
    'paid by 4111+1111+1111+1111',
    'shop.example/?card=4111+1111+1111+1111',
    '41 11 11 11 11 11 11 11+12',
    '4111111111111111@shop.example',
    'card_4111111111111111',
  ])('finds the card number in %s', (text) => {
    expect(hasCardNumber(text)).toBe(true)
  })

  it.each([
    '',
    '4111111111111112',
    '411111111111',
    'x4111111111111111',
    '4111111111111111x',
    '41111111111111111111',
    '4111-1111-1111-1111-1234-5678',
    '1000000000000008',
    '1732900000000',
    '0.4111111111111111',
    '4111111111111111.25',
    '34111111111111118',
    '9111111111111113',
    'DE89 3704 0044 0532 0130 00',
    'NO9386011117947',
    '4a11111111111111',
    '6a0f3c121230001234567abc',
    '41111111-1111-4111-8111-111111111111',
    '1000000000000000',
    '+45 12 34 56 78',
    '4111+1111+1111+1112',
    '4111+1111+1111+1111x',
    '2026-11-20T16:46:44.123Z',
    '4006381333627',
    'Visa (4222222222222)',
    '4 006381 333627',
    '4 222222 222222',
    '4111.1111.1111.1111',
    '4006381333627, 4006381333634 4006381333627',
    '600000000000004',
    'DE03 5001 0517 5407 3204 31',
    'de03 5001 0517 5407 3204 31',
  ])('finds no card number in %s', (text) => {
    expect(hasCardNumber(text)).toBe(false)
  })

  const numbers = fc
    .oneof(
      fc.stringMatching(/^4\d{14}$/),
      fc.stringMatching(/^4\d{17}$/),
      fc.stringMatching(/^5[1-5]\d{13}$/),
      fc.stringMatching(/^3[47]\d{12}$/),
      fc.stringMatching(/^36\d{11}$/),
      fc.stringMatching(/^65\d{13}$/),
      fc.stringMatching(/^62\d{14,16}$/),
    )
    .map(withCheckDigit)

  it('finds each number with blanks and hyphens anywhere, unless its check digit is wrong or a letter touches it', () => {
    fc.assert(
      fc.property(numbers, fc.array(fc.constantFrom('', '', '', ' ', '-', '  ')), (number, gaps) => {
        const spaced = [...number].map((digit, at) => `${at === 0 ? '' : (gaps[at] ?? '')}${digit}`).join('')
        const wrong = `${spaced.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`
        expect(hasCardNumber(`a: ${spaced}, b`)).toBe(true)
        expect(hasCardNumber(`a${number}`)).toBe(false)
        expect(/^[^ ]*$/.test(spaced) && hasCardNumber(wrong)).toBe(false)
      }),
    )
  })
})

/** Any blank, hyphen, mark or invisible character. */
const BETWEEN = String.raw`[\s\p{Cc}\p{Pd}\p{M}\p{Cf}\p{Cn}\p{Co}\u2212]`
/** The ways to write a number as on a card, in groups of 4 4 4 4, 4 4 4 4 3, 4 4 4 1, 4 3 3 3, 4 4 5, 4 6 5 or 4 6 4. */
const IN_GROUPS = [
  'D{4} D{4} D{4} D',
  'D{4} D{3} D{3} D{3}',
  'D{4} D{4} D{5}',
  'D{4} D{4} D{4} D{4}',
  'D{4} D{4} D{4} D{4} D{3}',
  'D{4} D{6} D{4,5}',
].map((form) => new RegExp(`^${form.replaceAll('D', String.raw`\p{Nd}`).replaceAll(' ', `${BETWEEN}+`)}$`, 'u'))
const IN_ONE = /^\p{Nd}{14,19}$/u
const LENGTHS = new Map([
  ['amex', [15]],
  ['diners', [14, 15, 16, 17, 18, 19]],
  ...['discover', 'jcb', 'unionpay'].map((scheme): [string, number[]] => [scheme, [16, 17, 18, 19]]),
])

/** The rule, implemented directly (reference: Card numbers in texts): each part of each run is checked. */
function hasNumberByDefinition(written: string): boolean {
  const text = written.replaceAll(/\p{No}/gu, (digit) =>
    /^\d$/.test(digit.normalize('NFKC')) ? digit.normalize('NFKC') : digit,
  )
  const isNumber = (part: string) => {
    const digits = digitsIn(part)
    const scheme = schemeOf(digits, { test: false })
    if (digits.length < 13 || digits.length > 19 || !hasCheckDigit(digits) || scheme.verdict === 'unknown') return false
    const isInGroups = IN_GROUPS.some((form) => form.test(part))
    return LENGTHS.get(scheme.scheme)?.includes(digits.length) ?? (digits.length >= 16 || isInGroups)
  }
  for (const { 0: run, index } of text.matchAll(new RegExp(String.raw`\p{Nd}(?:${BETWEEN}*\p{Nd})*`, 'gu'))) {
    const isGluedBefore = /(?:[\p{L}\p{N}]|\p{Nd}\.)$/u.test(written.slice(0, index))
    const isGluedAfter = /^(?:[\p{L}\p{N}]|\.\p{Nd})/u.test(written.slice(index + run.length))
    if (!isGluedBefore && !isGluedAfter && isNumber(run)) return true
    const begins = [...run.matchAll(/(?<=^|[\s\p{Cc}][^\p{Nd}]*)(?<!\p{Nd})\p{Nd}/gu)].map((match) => match.index)
    const ends = [...run.matchAll(/(?<=\p{Nd})(?:$|(?=[^\p{Nd}]*[\s\p{Cc}]))/gu)].map((match) => match.index)
    for (const from of begins.filter((begin) => begin > 0 || !isGluedBefore)) {
      for (const to of ends.filter((end) => end > from && (end < run.length || !isGluedAfter))) {
        const part = run.slice(from, to)
        if ([IN_ONE, ...IN_GROUPS].some((form) => form.test(part)) && isNumber(part)) return true
      }
    }
  }
  return false
}

/** Appends the GS1 check digit: counted from the right, every other digit has the weight 3. */
function withGs1Digit(digits: string): string {
  const sum = [...digits].toReversed().reduce((total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 3 : 1), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

/** Builds an IBAN by its definition: the number of the rearranged text modulo 97 is 1. */
function ibanOf(country: string, bban: string): string {
  const digits = `${bban}${country}00`.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${bban}`
}

describe('numbers that are no card numbers', () => {
  const ean = fc.stringMatching(/^[1-9]\d{11}$/).map(withGs1Digit)
  const gtin14 = fc.stringMatching(/^[1-8]\d{12}$/).map(withGs1Digit)
  // The account numbers of these countries have no check digit of their own.
  const iban = fc.oneof(
    ...(
      [
        ['DE', /^[4-6]\d{17}$/],
        ['AT', /^[4-6]\d{15}$/],
        ['CH', /^[4-6]\d{16}$/],
        ['DK', /^[4-6]\d{13}$/],
        ['GB', /^[A-Z]{4}[4-6]\d{13}$/],
        ['NL', /^[A-Z]{4}[4-6]\d{9}$/],
      ] as const
    ).map(([country, bban]) => fc.stringMatching(bban).map((account) => ibanOf(country, account))),
  )

  it('are all EAN-13, as texts, as numbers, with the blanks of a barcode and beside each other', () => {
    fc.assert(
      fc.property(ean, ean, (one, other) => {
        const barcode = `${one.slice(0, 1)} ${one.slice(1, 7)} ${one.slice(7)}`
        const found = [one, `EAN ${one}, ${other}`, `${one} ${other}`, barcode].filter(hasCardNumber)
        expect([found, hasCardNumberDeep({ [one]: Number(other) })]).toEqual([[], false])
      }),
      { numRuns: 2_000 },
    )
  })

  it('are all GTIN-14, but those that begin like a card of Diners and have its check digit', () => {
    fc.assert(
      fc.property(gtin14, (gtin) => {
        expect(hasCardNumber(gtin)).toBe(/^3[068]/.test(gtin) && hasCheckDigit(gtin))
      }),
      { numRuns: 2_000 },
    )
  })

  it('are all IBANs, as they are stored and as they are printed', () => {
    fc.assert(
      fc.property(iban, (account) => {
        const printed = account.replaceAll(/(.{4})(?=.)/g, '$1 ')
        const texts = [account, printed, `Pay to ${printed}.`, `${printed}, ${printed}`]
        expect(texts.filter(hasCardNumber)).toEqual([])
      }),
      { numRuns: 2_000 },
    )
  })

  it('hide no card number beside an IBAN', () => {
    fc.assert(
      fc.property(iban, (account) => {
        const printed = account.replaceAll(/(.{4})(?=.)/g, '$1 ')
        expect(hasCardNumber(`${printed}; 4111 1111 1111 1111`)).toBe(true)
        expect(hasCardNumber(`4111 1111 1111 1111 ${printed}`)).toBe(true)
      }),
    )
  })
})

it('each card of 13 digits is found in the groups that are printed on it', () => {
  const groups = fc.constantFrom<readonly number[]>([4, 4, 4, 1], [4, 3, 3, 3], [4, 4, 5])
  const number = fc
    .oneof(fc.stringMatching(/^4\d{11}$/), fc.stringMatching(/^(?:5[0678]|6[13479])\d{10}$/))
    .map(withCheckDigit)
  fc.assert(
    fc.property(number, groups, fc.constantFrom(' ', '-', '\u00a0'), (card, lengths, gap) => {
      const ends = lengths.map((_, group) => lengths.slice(0, group + 1).reduce((sum, length) => sum + length))
      const printed = lengths.map((length, group) => card.slice((ends[group] ?? 0) - length, ends[group])).join(gap)
      expect(hasCardNumber(printed)).toBe(true)
      expect(hasCardNumber(`My card: ${printed}, thanks`)).toBe(true)
    }),
  )
})

describe('hasCardNumber by its definition', () => {
  const known = ['4111111111111111', '378282246310005', '30569309025904', '4222222222222', '6205500000000000004']
  const pieces = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ' ',
        '-',
        '',
        '\u00a0',
        '\u200b',
        ' - ',
        '.',
        'x',
        '\u0301',
        '\u0001',
        '¹',
        '½',
        '１',
        '\u{1d7d9}',
        '\ud835',
      ),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '4111',
        '1111',
        '3782',
        '822463',
        '10005',
        '4',
        '123',
        '4222 2222 2222 2',
        '4222-222-222-222',
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...known, '4111 1111 1111 1111', '3782-822463-10005', '٤١١١ ١١١١ ١١١١ ١١١١'),
    },
  )

  it('has the verdict of the definition for any text of digits, blanks, hyphens and letters', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
        const text = parts.join('')
        expect(hasCardNumber(text)).toBe(hasNumberByDefinition(text))
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('hasCardNumberDeep', () => {
  it.each([
    { a: [{ b: ['x', '4111 1111 1111 1111'] }] },
    { '4111111111111111': 1 },
    { a: 4_111_111_111_111_111 },
    ['4111111111111111'],
    '4111111111111111',
  ])('finds the card number in %j', (value) => {
    expect(hasCardNumberDeep(value)).toBe(true)
  })

  it.each([
    [{ a: 1_732_900_000_000, b: 0.4111111111111111, c: ['4111', '1111', '1111', '1111'] }],
    [null],
    [true],
    [{}],
  ])('finds none in %j', (value) => {
    expect(hasCardNumberDeep(value)).toBe(false)
  })
})
