import { describe, expect, it } from 'vitest'
import {
  attributesColumnMissing,
  columnsNotSplit,
  columnTwice,
  columnUnknown,
  headerBroken,
  skuColumnMissing,
  stockColumn,
  tooManyColumns,
} from '../import-errors.ts'
import { readCsvHeader } from './csv-products.ts'

const record = (fields: readonly string[], line = 1, isWellFormed = true) => ({ line, fields, isWellFormed })
const many = (count: number) => ['sku', ...Array.from({ length: count - 1 }, (_, i) => `attributes.k${i}`)]

describe('readCsvHeader', () => {
  it.each([
    ['quotes that are not in order', record(['sku', 'attributes'], 1, false), headerBroken()],
    ['101 columns', record(many(101)), tooManyColumns({ columnsMax: 100 })],
    [
      'a strange column',
      record(['sku', 'attributes', 'price']),
      columnUnknown({ column: 'price', meant: 'attributes.price' }),
    ],
    ['an attribute without a name', record(['sku', 'attributes.']), columnUnknown({ column: 'attributes.' })],
    ['a long strange column', record(['x'.repeat(65), 'sku']), columnUnknown({ column: 'x'.repeat(64) })],
    ['a column in capitals', record(['SKU', 'attributes']), columnUnknown({ column: 'SKU', meant: 'sku' })],
    [
      'a column without its s',
      record(['sku', 'Attribute']),
      columnUnknown({ column: 'Attribute', meant: 'attributes' }),
    ],
    ['attribute.a', record(['attribute.a', 'sku']), columnUnknown({ column: 'attribute.a', meant: 'attributes.a' })],
    ['a column without a name', record(['sku', '']), columnUnknown({ column: '' })],
    ['semicolons', record(['sku;name;attributes']), columnsNotSplit({ separator: 'semicolons' })],
    ['tabs', record(['sku\tattributes']), columnsNotSplit({ separator: 'tabs' })],
    ['a column of stock', record(['sku', 'attributes', 'stock']), stockColumn({ column: 'stock' })],
    ['a column of quantities', record(['sku', 'attributes', 'Quantity']), stockColumn({ column: 'Quantity' })],
    ['a column on_hand', record(['sku', 'attributes', 'on_hand']), stockColumn({ column: 'on_hand' })],
    [
      'a column like one of stock',
      record(['sku', 'attributes', 'stockings']),
      columnUnknown({ column: 'stockings', meant: 'attributes.stockings' }),
    ],
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
    ['empty columns alone, as none', ['sku', 'attributes.a'], ['A', ''], '{}'],
    ['what is no JSON, to be refused later', ['sku', 'attributes', 'attributes.a'], ['A', '{', '1'], '{'],
    ['what is too large, to be refused later', ['sku', 'attributes.a'], ['A', 'x'.repeat(21)], 'x'.repeat(21)],
  ])('takes its attributes from %s', (_name, header, fields, attributes) => {
    expect(read(header, fields)).toEqual({ line: 2, sku: 'A', attributes })
  })

  it('is refused for quotes, for another number of fields, and for a path through a value', () => {
    const header = ['sku', 'attributes', 'attributes.a.b']
    expect(read(header, ['A', '', ''], false)).toEqual(problem('The record has misplaced quotes.'))
    expect(read(header, ['A'])).toEqual(problem('The record has 1 fields, the header has 3.'))
    const through = 'attributes.a.b: leads through a value that is not an object'
    expect(read(header, ['A', '{"a":1}', '2'])).toEqual(problem(through, 'A'))
  })
})
