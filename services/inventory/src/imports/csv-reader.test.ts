import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvForm } from '../exports/export-form.ts'
import { readCell } from '../json/json-object.ts'
import { CsvReader, type CsvRecord, findSeparator, readSeparatorLine } from './csv-reader.ts'

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
    ['"",""\n,,\n', []],
    ['a\rb\r\r\nc\r', [['a'], ['b'], ['c']]],
    ['a\n\n\r\nb\n', [['a'], ['b']]],
    [' a , b \n', [[' a ', ' b ']]],
    ['""""\n', [['"']]],
  ])('reads the records of %j', (text, records) => {
    expect(fieldsOf(text)).toEqual(records)
    expect(fieldsOf(...text)).toEqual(records)
    expect(read(text).every(({ isWellFormed }) => isWellFormed)).toBe(true)
  })

  it('names the physical line on which each record begins', () => {
    expect(read('a\n"b\nb"\n\nc\n"d').map(({ line }) => line)).toEqual([1, 2, 5, 6])
  })

  it.each(['a"b"\n', '"a"b\n', '"a" \n', '"a', 'a\n"b'])('reports the misplaced quotes of %j', (text) => {
    for (const pieces of [[text], [...text]]) {
      expect(read(...pieces).at(-1)?.isWellFormed).toBe(false)
    }
  })

  it.each([
    ['a\nb,"12 inch\nc\nd\n', { line: 2, quoteLine: 2, lastLine: 4 }],
    ['a\n"x\ny","12 inch\nc\n', { line: 2, quoteLine: 2, lastLine: 4 }],
    ['a\n"x","12 inch\nc"d"', { line: 2, quoteLine: 2, lastLine: 3 }],
    ['a\r"x\ry\r', { line: 2, quoteLine: 2, lastLine: 3 }],
    ['a\nb"c\n', { line: 2, quoteLine: 2, lastLine: 2 }],
  ])('names the lines that a record with an open quote takes in: %j', (text, lines) => {
    for (const pieces of [[text], [...text]]) {
      const { line, quoteLine, lastLine } = read(...pieces).at(-1) ?? {}
      expect({ line, quoteLine, lastLine }).toEqual(lines)
    }
  })

  it.each([';', '\t', '|'])('separates fields by %j', (separator) => {
    const reader = new CsvReader(separator)
    const [record] = reader.push(`"a${separator}b"${separator}1,5\n`)
    expect(record?.fields).toEqual([`a${separator}b`, '1,5'])
  })

  it('reads on after a record with misplaced quotes', () => {
    expect(read('a"b\nc\n').map(({ fields, isWellFormed }) => [fields[0], isWellFormed])).toEqual([
      ['a"b', false],
      ['c', true],
    ])
  })

  it('reads what an export writes, in pieces of any size', () => {
    const { write } = csvForm({ flatten: [], spreadsheetSafe: false })
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é') })
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell)), fc.nat(20), (rows, size) => {
        const text = rows
          .map(([sku, attributes], at) => write({ id: at, sku, attributes, flattened: [], rest: '' }))
          .join('')
        const pieces = text.match(new RegExp(`[^]{1,${size + 1}}`, 'g')) ?? []
        expect(fieldsOf(...pieces)).toEqual(rows.map((row, at) => [String(at), ...row]))
      }),
    )
  })

  it('reads any text alike, whole or in single characters', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r') })
    const isAlike = (csv: string) => {
      expect(read(...csv)).toEqual(read(csv))
    }
    fc.assert(fc.property(text, isAlike), { examples: [['"a"\r"b"']] })
  })

  it('413: refuses a record without an end', () => {
    const reader = new CsvReader()
    expect(() => {
      for (let piece = 0; piece < 20; piece++) reader.push(`"${'x'.repeat(100_000)}`)
    }).toThrow('The record on line 1 is longer than 1048576 characters.')
  })

  it('413: names no quote in front of a long record that ends on its line', () => {
    const push = () => new CsvReader().push(`a\n${'x'.repeat(1_048_577)}\n`)
    expect(push).toThrow(/^The record on line 2 is longer than 1048576 characters\.$/)
  })

  it('413: names where the quote of such a record has opened', () => {
    const reader = new CsvReader()
    expect(() => {
      reader.push('a\nb,"12 inch\n')
      for (let piece = 0; piece < 20; piece++) reader.push(`${'x'.repeat(100_000)}\n`)
    }).toThrow(
      'The record on line 2 is longer than 1048576 characters. The quote that opens on line 2 takes in everything up to line 14.',
    )
  })
})

describe('the separator that a line names', () => {
  it.each([
    ['sep=;', ';'],
    ['SEP=\t', '\t'],
    ['sep= ;', ';'],
    ['sep= ', ' '],
    [' "sep=,",', ','],
    ['sep=;,,', ','],
    ['"sep= "; ;', ';'],
    ['sep=;x', undefined],
    ['sep=', undefined],
    ['sep="', undefined],
    ['sep=""', undefined],
    ['"" sep=;', undefined],
    ['sku,attributes', undefined],
  ])('by %j is %j', (line, separator) => {
    expect(readSeparatorLine(line)).toBe(separator)
  })
})

describe('a long text of a client is read in linear time', () => {
  const blanks = ' '.repeat(100_000)

  it.each([blanks, `${blanks}"x`, `sep=${blanks}`, `sep=${blanks}"${blanks}x`, `sep=;${blanks}x`, `"${blanks}sep`])(
    'as the first line (%#)',
    (line) => {
      expect(spendMs(() => [readSeparatorLine(line), findSeparator(line)])).toBeLessThan(1_000)
    },
  )

  it.each(['-0.', '0.', '1', '1.', '-0.0', '-'])('as a cell that begins with %s and is no number', (start) => {
    for (const digit of '019') {
      expect(spendMs(() => readCell(`${start}${digit.repeat(65_536)}x`))).toBeLessThan(500)
    }
  })

  /** Measures only the CPU time of this thread, so that other load does not matter. A quadratic pattern takes seconds. */
  function spendMs(read: () => unknown): number {
    const before = process.threadCpuUsage()
    read()
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  }
})
