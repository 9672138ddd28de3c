import { describe, expect, it } from 'vitest'
import type { MovementLine } from '../movements/movement.ts'
import { auditedAttributes, auditedLines } from './operator-change.ts'

/** The JSON of an object with one member, with this size in bytes. */
const objectOf = (bytes: number) => `{"a":"${'x'.repeat(bytes - '{"a":""}'.length)}"}`
const sent = (jsonText: string) => ({ jsonText, parsed: JSON.parse(jsonText) })

describe('auditedAttributes', () => {
  it.each([
    ['a text that is JSON', '{"price":19.90}', '{"price":19.90}'],
    ['an object that was sent', sent('{"digits":12345678901234567890}'), '{"digits":12345678901234567890}'],
    ['4096 bytes', objectOf(4_096), objectOf(4_096)],
    ['a scalar', '"red"', '"red"'],
  ])('keeps %s as it was written', (_what, attributes, expected) => {
    expect(auditedAttributes(attributes)).toBe(expected)
  })

  it.each([
    ['a text that is an object', objectOf(4_097), { bytes: 4_097, names: ['a'] }],
    ['an object that was sent', sent(objectOf(4_097)), { bytes: 4_097, names: ['a'] }],
    ['2048 characters of two bytes', `"${'é'.repeat(2_048)}"`, { bytes: 4_098 }],
    ['an array', `[${'1,'.repeat(2_048)}1]`, { bytes: 4_099 }],
    ['null among blanks', `null${' '.repeat(4_093)}`, { bytes: 4_097 }],
  ])('keeps the length of %s beyond 4096 bytes, and the names of an object', (_what, attributes, expected) => {
    expect(auditedAttributes(attributes)).toEqual(expected)
  })

  it('cuts long names, and leaves out those after the fiftieth', () => {
    const names = Array.from({ length: 51 }, (_, at) => `${String(at).padStart(2, '0')}${'n'.repeat(99)}`)
    const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))
    expect(auditedAttributes(text)).toEqual({
      bytes: text.length,
      names: names.slice(0, 50).map((name) => name.slice(0, 100)),
    })
  })
})

describe('auditedLines', () => {
  const line: MovementLine = { type: 'receive', productId: 1, locationId: 2, quantity: 3 }
  const explained = { ...line, reason: 'x'.repeat(99), reference: 'order-7' }
  /** The size of a list with one line whose reason is empty, in bytes. */
  const EMPTY = Buffer.byteLength(JSON.stringify([{ ...line, reason: '' }]))

  it('keeps lines of 4096 bytes of JSON whole', () => {
    const lines = [{ ...line, reason: 'x'.repeat(4_096 - EMPTY) }]
    expect(auditedLines(lines)).toEqual(lines)
    expect(auditedLines([explained])).toEqual([explained])
  })

  it('leaves out the reasons and references of longer ones, each of which the ledger has', () => {
    expect(auditedLines([{ ...line, reason: 'x'.repeat(4_097 - EMPTY) }])).toEqual([line])
    expect(auditedLines(Array(50).fill(explained))).toEqual(Array(50).fill(line))
  })
})
