import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readCardInput } from '../payment-links/card-form.ts'

const script = readFileSync(join(import.meta.dirname, 'assets/read-card.js'), 'utf8').replaceAll('export ', '')
const Read = z.object({ number: z.string(), month: z.string().optional(), year: z.string().optional() })

/** Reads a number and an expiry as the script of the page does. */
function readByScript(number: string, expiry: string): z.infer<typeof Read> {
  const code = `${script}; JSON.stringify({ number: digitsIn(number), ...readExpiry(expiry) })`
  return Read.parse(JSON.parse(z.string().parse(runInNewContext(code, { number, expiry }))))
}

/** The text of the field after each character was typed. */
function typed(text: string): string {
  const code = `${script}; [...text].reduce((value, character) => slash(value + character), '')`
  return z.string().parse(runInNewContext(code, { text }))
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
