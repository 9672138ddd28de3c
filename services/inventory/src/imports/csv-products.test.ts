import { describe, expect, it } from 'vitest'
import {
  attributesColumnMissing,
  columnsUnknown,
  columnTwice,
  headerBroken,
  skuColumnMissing,
  tooManyColumns,
} from '../errors.ts'
import { readCsvHeader } from './csv-products.ts'

const record = (fields: readonly string[], line = 1, isWellFormed = true) => ({
  line,
  lastLine: line,
  quoteLine: line,
  fields,
  isWellFormed,
})
const unknown = (column: string, suggestion?: string) =>
  columnsUnknown({ unknown: [{ column, suggestion, stock: false }] })
const stock = (column: string) => columnsUnknown({ unknown: [{ column, suggestion: undefined, stock: true }] })
const many = (count: number) => ['sku', ...Array.from({ length: count - 1 }, (_, i) => `attributes.k${i}`)]

describe('readCsvHeader', () => {
  it.each([
    ['quotes that are not in order', record(['sku', 'attributes'], 1, false), headerBroken()],
    ['101 columns', record(many(101)), tooManyColumns({ columnsMax: 100 })],
    ['a strange column', record(['sku', 'attributes', 'price']), unknown('price', 'attributes.price')],
    ['an attribute without a name', record(['sku', 'attributes.']), unknown('attributes.')],
    ['a long strange column', record(['x'.repeat(65), 'sku']), unknown('x'.repeat(64))],
    ['a column in capitals', record(['SKU', 'attributes']), unknown('SKU', 'sku')],
    ['a column without its s', record(['sku', 'Attribute']), unknown('Attribute', 'attributes')],
    ['attribute.a', record(['attribute.a', 'sku']), unknown('attribute.a', 'attributes.a')],
    ['a column of stock', record(['sku', 'attributes', 'stock']), stock('stock')],
    ['a column of quantities', record(['sku', 'attributes', 'Quantity']), stock('Quantity')],
    ['a column on_hand', record(['sku', 'attributes', 'on_hand']), stock('on_hand')],
    [
      'a column like one of stock',
      record(['sku', 'attributes', 'stockings']),
      unknown('stockings', 'attributes.stockings'),
    ],
    [
      'several strange columns, all of which it names',
      record(['Title', 'sku', 'attributes', 'stock', 'price:']),
      columnsUnknown({
        unknown: [
          { column: 'Title', suggestion: 'attributes.Title', stock: false },
          { column: 'stock', suggestion: undefined, stock: true },
          { column: 'price:', suggestion: 'attributes.price:', stock: false },
        ],
      }),
    ],
    ['one path with two types', record(['sku', 'attributes.a', 'attributes.a:text']), columnTwice({ column: 'a' })],
    ['a column twice', record(['sku', 'attributes', 'sku']), columnTwice({ column: 'sku' })],
    ['no column sku', record(['attributes']), skuColumnMissing()],
    ['no column of attributes', record(['id', 'sku']), attributesColumnMissing()],
  ])('refuses a header with %s', (_name, header, error) => {
    expect(() => readCsvHeader(header, 100)).toThrow(error)
  })

  it('accepts 100 columns', () => {
    const read = readCsvHeader(record(many(100)), 100)
    const values = ['A', ...Array.from({ length: 98 }, () => ''), 'last']
    expect(read(record(values, 2))).toEqual({ line: 2, sku: 'A', attributes: '{"k98":"last"}' })
  })
})

describe('a record below the header', () => {
  const read = (header: readonly string[], fields: readonly string[], isWellFormed = true) =>
    readCsvHeader(record(header), 20)(record(fields, 2, isWellFormed))
  const problem = (description: string, sku: string | null = null) => ({
    line: 2,
    sku,
    type: sku === null ? 'BAD_REQUEST' : 'VALIDATION_ERROR',
    description,
  })

  it.each([
    ['a cell as it is', ['sku', 'attributes'], ['A', '{"n": 1.0}'], '{"n": 1.0}'],
    ['a cell with other columns empty', ['sku', 'attributes', 'attributes.a'], ['A', '[1]', ''], '[1]'],
    [
      'columns alone, which may be nested',
      ['attributes.a.b', 'sku', 'attributes.c'],
      ['1', 'A', 'x'],
      '{"a":{"b":1},"c":"x"}',
    ],
    [
      'columns over the members of a cell',
      ['sku', 'attributes', 'attributes.a'],
      ['A', '{"a":1,"b":2}', '3'],
      '{"a":3,"b":2}',
    ],
    ['text, whatever it looks like', ['sku', 'attributes.a:text'], ['A', '12E3'], '{"a":"12E3"}'],
    ['text in quotes as it is', ['sku', 'attributes.a:text'], ['A', '"1"'], String.raw`{"a":"\"1\""}`],
    ['a number in any form of JSON', ['sku', 'attributes.a:number'], ['A', '12E3'], '{"a":12E3}'],
    ['a word of a spreadsheet', ['sku', 'attributes.a:boolean'], ['A', 'TRUE'], '{"a":true}'],
    ['any JSON', ['sku:text', 'attributes.a:json'], ['A', '[1E2]'], '{"a":[1E2]}'],
    ['a name that only looks typed', ['sku', 'attributes.a:int'], ['A', '1'], '{"a:int":1}'],
    ['cells behind the last column, which are empty', ['sku', 'attributes.a'], ['A', '1', '', ''], '{"a":1}'],
    ['a column without a name, which is empty', ['sku', '', 'attributes.a', ' '], ['A', '', '1', ' '], '{"a":1}'],
    ['empty columns alone, as none', ['sku', 'attributes.a'], ['A', ''], '{}'],
    ['what is no JSON, to be refused later', ['sku', 'attributes', 'attributes.a'], ['A', '{', '1'], '{'],
    ['what is too large, to be refused later', ['sku', 'attributes.a'], ['A', 'x'.repeat(21)], 'x'.repeat(21)],
  ])('takes its attributes from %s', (_name, header, fields, attributes) => {
    expect(read(header, fields)).toEqual({ line: 2, sku: 'A', attributes })
  })

  it.each(['0', '-1', '10', '0.10', '-0.5', '12345678901234567890', 'true', 'null', '[1]', '"a"'])(
    'takes %s as JSON without a type',
    (cell) => {
      expect(read(['sku', 'attributes.a'], ['A', cell])).toEqual({ line: 2, sku: 'A', attributes: `{"a":${cell}}` })
    },
  )

  it.each(['12E3', '1e5', '007', '+1', '-0', '-0.0', '.5', '1.', '1,5', '0x10', 'TRUE', 'NaN', ' 1', '1E400'])(
    'takes %s as text without a type',
    (cell) => {
      expect(read(['sku', 'attributes.a'], ['A', cell])).toEqual({ line: 2, sku: 'A', attributes: `{"a":"${cell}"}` })
    },
  )

  it.each([
    ['number', '007', 'must be a number'],
    ['number', '"1"', 'must be a number'],
    ['boolean', '1', 'must be true or false'],
    ['json', 'red', 'must be JSON'],
  ])('is refused for a cell of a column of the type %s that is %s', (type, cell, text) => {
    expect(read(['sku', `attributes.a:${type}`], ['A', cell])).toEqual(problem(`attributes.a: ${text}`, 'A'))
  })

  it('is refused for a value in a column without a name', () => {
    const text = 'The record has a value in column 2, which has no name.'
    expect(read(['sku', '', 'attributes.a'], ['A', 'x', '1'])).toEqual(problem(text))
  })

  it('counts and names each line that an open quote takes in', () => {
    const broken = { ...record(['A', 'x'], 2, false), quoteLine: 3, lastLine: 9 }
    expect(readCsvHeader(record(['sku', 'attributes.a']), 20)(broken)).toEqual({
      ...problem('The record has misplaced quotes. The quote that opens on line 3 takes in everything up to line 9.'),
      lines: 8,
    })
  })

  it('is refused for quotes, for another number of fields, and for a path through a value', () => {
    const header = ['sku', 'attributes', 'attributes.a.b']
    expect(read(header, ['A', '', ''], false)).toEqual(problem('The record has misplaced quotes.'))
    expect(read(header, ['A'])).toEqual(problem('The record has 1 fields, the header has 3.'))
    const through = 'attributes.a.b: leads through a value that is not an object'
    expect(read(header, ['A', '{"a":1}', '2'])).toEqual(problem(through, 'A'))
  })
})
