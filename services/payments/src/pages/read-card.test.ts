import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readCardInput } from '../payment-links/card-form.ts'

const script = readFileSync(join(import.meta.dirname, 'assets/read-card.js'), 'utf8').replaceAll('export ', '')
const page = createContext({})
runInContext(script, page)
const Read = z.object({ number: z.string(), month: z.string().optional(), year: z.string().optional() })

/** Reads a number and an expiry as the script of the page does. */
function readByScript(number: string, expiry: string): z.infer<typeof Read> {
  Object.assign(page, { number, expiry })
  const code = 'JSON.stringify({ number: digitsIn(number), ...readExpiry(expiry) })'
  return Read.parse(JSON.parse(z.string().parse(runInContext(code, page))))
}

/** Returns the text of the field after all characters were typed one by one. */
function typed(text: string): string {
  Object.assign(page, { text })
  return z.string().parse(runInContext("[...text].reduce((value, character) => slash(value + character), '')", page))
}

/** Generates texts of a month and a year, as people and programs write them. */
function writtenExpiries(): fc.Arbitrary<string> {
  const blanks = fc.constantFrom('', '', ' ', '  ', '\u00a0')
  const mark = fc.constantFrom(
    '',
    ' ',
    '/',
    '.',
    '-',
    '\u2011',
    '\u2013',
    '\u2014',
    '\u2212',
    '\u2044',
    '\u2215',
    '\uff0f',
  )
  const separator = fc.tuple(blanks, mark, blanks).map((parts) => parts.join(''))
  const month = fc
    .integer({ min: 1, max: 12 })
    .chain((value) => fc.constantFrom(`${value}`, `${value}`.padStart(2, '0')))
  const year = fc.integer({ min: 0, max: 99 }).map((value) => `${value}`.padStart(2, '0'))
  const monthFirst = fc.tuple(blanks, month, separator, fc.constantFrom('', '20'), year, blanks)
  const yearFirst = fc.tuple(blanks, fc.constant('20'), year, separator, month, blanks)
  const written = fc.oneof(monthFirst, yearFirst).map((parts) => parts.join(''))
  return fc.tuple(written, fc.infiniteStream(fc.nat(9))).map(([text, choices]) => {
    const write = (character: string) => {
      const choice = choices.next().value
      const shown = choice === 0 ? toArabic(character) : character
      return choice === 1 ? `\u202d${shown}` : shown
    }
    return [...text].map(write).join('')
  })
}

function toArabic(character: string): string {
  return /[0-9]/.test(character) ? String.fromCodePoint(0x660 + Number(character)) : character
}

it.each([
  ['0830', '08/30'],
  ['830', '08/30'],
  ['08/30', '08/30'],
  ['1230', '12/30'],
  ['08/2030', '08/2030'],
  ['2030-08', '2030-08'],
  ['203008', '203008'],
  ['0226', '02/26'],
  ['02/2030', '02/2030'],
  ['08.66', '08/66'],
  ['08-66', '08/66'],
  ['08 / 66', '08/66'],
  ['08\u201366', '08/66'],
  ['12.2066', '12/2066'],
  ['8 66', '08/66'],
  ['1/66', '1/66'],
  ['12066', '12066'],
  ['12/03', '1203'],
])('writes the typed expiry %s as %s', (text, shown) => {
  expect(typed(text)).toBe(shown)
})

it('reads numbers and expiries as the server does without a script', () => {
  const pieces = fc.constantFrom(
    '0',
    '1',
    '2',
    '3',
    '20',
    '2030',
    '08',
    '٨',
    '３',
    ' ',
    '-',
    '/',
    '.',
    '\u2011',
    '\u202d',
    'x',
  )
  const texts = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, texts, (digits, expiry) => {
      const number = `1000000000 ${digits}`
      const { month, year, ...script } = readByScript(number, expiry)
      const input = readCardInput({ number, expiry, code: '111' }, new Date('2000-01-01T00:00:00Z'))
      const isNumber = script.number.length <= 19
      expect(isNumber && month !== undefined ? 'read' : 'problem').toBe(input.verdict)
      if (input.verdict !== 'read') return
      expect({
        number: script.number,
        expiry: { month: Number(month), year: 2_000 + Number(year) },
        code: '111',
      }).toEqual(input.card)
    }),
  )
})

it('reads a typed expiry as it was meant', () => {
  fc.assert(
    fc.property(writtenExpiries(), (text) => {
      const meant = readByScript('', text)
      expect(meant).toEqual({ number: '', month: expect.any(String), year: expect.any(String) })
      const read = readByScript('', typed(text))
      expect([Number(read.month), read.year]).toEqual([Number(meant.month), meant.year])
    }),
    { numRuns: 300, examples: [['12030'], ['2\u0660300\u0668']] },
  )
})
