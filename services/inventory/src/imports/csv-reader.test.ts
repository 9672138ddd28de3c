import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeCsvRow } from '../exports/csv-row.ts'
import { CsvReader, type CsvRecord, RecordTooLongError } from './csv-reader.ts'

function read(...pieces: readonly string[]): CsvRecord[] {
  const reader = new CsvReader()
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
}

const fieldsOf = (...pieces: readonly string[]) => read(...pieces).map(({ fields }) => fields)

describe('CsvReader', () => {
  it.each<[string, string[][]]>([
    ['', []],
    [
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,b\r\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['"a ""b"", c","d\ne"\n', [['a "b", c', 'd\ne']]],
    ['"x\r\ny"\r\n', [['x\r\ny']]],
    ['a,,\n', [['a', '', '']]],
    ['"",""\n', [['', '']]],
    ['a\n\n\r\nb\n', [['a'], ['b']]],
    [' a , b \n', [[' a ', ' b ']]],
    ['""""\n', [['"']]],
  ])('%j', (text, records) => {
    expect(fieldsOf(text)).toEqual(records)
    expect(fieldsOf(...text)).toEqual(records)
    expect(read(text).every(({ isWellFormed }) => isWellFormed)).toBe(true)
  })

  it('says on which physical line each record begins', () => {
    expect(read('a\n"b\nb"\n\nc\n"d').map(({ line }) => line)).toEqual([1, 2, 5, 6])
  })

  it.each(['a"b"\n', '"a"b\n', '"a" \n', '"a', 'a\n"b'])('%j has quotes that are not in order', (text) => {
    for (const pieces of [[text], [...text]]) {
      expect(read(...pieces).at(-1)?.isWellFormed).toBe(false)
    }
  })

  it('goes on behind a record whose quotes are not in order', () => {
    expect(read('a"b\nc\n').map(({ fields, isWellFormed }) => [fields[0], isWellFormed])).toEqual([
      ['a"b', false],
      ['c', true],
    ])
  })

  it('reads what was written, in whatever pieces it comes', () => {
    const rows = fc.array(
      fc.array(fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é') }), { minLength: 2 }),
    )
    fc.assert(
      fc.property(rows, fc.nat(20), (values, size) => {
        const text = values.map((row) => writeCsvRow(row)).join('')
        const pieces = text.match(new RegExp(`[^]{1,${size + 1}}`, 'g')) ?? []
        expect(fieldsOf(...pieces)).toEqual(values)
      }),
    )
  })

  it('refuses a record without an end', () => {
    const reader = new CsvReader()
    expect(() => {
      for (let piece = 0; piece < 20; piece++) reader.push(`"${'x'.repeat(100_000)}`)
    }).toThrow(RecordTooLongError)
  })
})
