import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ImportRecord } from './import-record.ts'
import { type ImportFormat, readRecords } from './read-records.ts'

const LIMITS = { bytesMax: 3_000_000, attributesBytesMax: 65_536 }

async function read(pieces: Iterable<string>, format: ImportFormat): Promise<ImportRecord[]> {
  async function* bytes() {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  const records: ImportRecord[] = []
  for await (const batch of readRecords(bytes(), format, LIMITS)) records.push(...batch)
  return records
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('readRecords', () => {
  it('finds the lines of NDJSON in pieces of any size', async () => {
    const text = '{"sku":"A","attributes":{"n":1.0}}\r\n\n{"sku":"B","attributes":"[2]"}\n{"sku":"ü","attributes":[]}'
    const records = [
      { line: 1, sku: 'A', attributes: '{"n":1.0}' },
      { line: 3, sku: 'B', attributes: '[2]' },
      { line: 4, sku: 'ü', attributes: '[]' },
    ]
    expect(await read([text], 'ndjson')).toEqual(records)
    expect(await read(text, 'ndjson')).toEqual(records)
    expect(await read([`${text}\n`], 'ndjson')).toEqual(records)
  })

  // Searching the whole unfinished line after each piece would take minutes.
  it('searches each piece of a long line only once', async () => {
    function* pieces() {
      yield '{"sku":"A","attributes":[]'
      for (let i = 0; i < 900_000; i++) yield ' '
      yield '}\n'
    }
    expect(await read(pieces(), 'ndjson')).toEqual([{ line: 1, sku: 'A', attributes: '[]' }])
  })

  it('reads no value inside the column attributes', async () => {
    const attributes = `{"a":{"x":[${'[],'.repeat(10_000)}1.0], "y":{"z":1}},"b":2.50,"a.b":3}`
    const parse = vi.spyOn(JSON, 'parse')
    const text = `sku,attributes,attributes.a.y.w,attributes.c\nA,"${attributes.replaceAll('"', '""')}",4,5`
    const expected = `{"a":{"x":[${'[],'.repeat(10_000)}1.0],"y":{"z":1,"w":4}},"b":2.50,"a.b":3,"c":5}`
    expect(await read([text], 'csv')).toEqual([{ line: 2, sku: 'A', attributes: expected }])
    expect(parse.mock.calls.filter(([, reviver]) => reviver !== undefined)).toEqual([])
  })

  const large = `{"list":[${'1.5,'.repeat(200_000)}1]}`
  const cell = `"${large.replaceAll('"', '""')}"`
  const tooLarge = [
    {
      line: expect.any(Number),
      sku: 'A',
      type: 'VALIDATION_ERROR',
      description: 'attributes: must be at most 65536 bytes of JSON',
    },
  ]
  it.each<[string, ImportFormat, string]>([
    ['an object of NDJSON', 'ndjson', `{"sku":"A","attributes":${large}}`],
    ['a text of NDJSON', 'ndjson', JSON.stringify({ sku: 'A', attributes: large })],
    ['NDJSON beside a number', 'ndjson', `{"id":1.0,"sku":"A","attributes":${large}}`],
    ['the column attributes', 'csv', `sku,attributes\nA,${cell}`],
    ['the column attributes beside others', 'csv', `sku,attributes,attributes.b\nA,${cell},1`],
    ['a column of an attribute', 'csv', `sku,attributes.a\nA,${cell}`],
    [
      'columns that are too long together',
      'csv',
      `sku,attributes.a,attributes.b\nA,${'a'.repeat(40_000)},${'b'.repeat(40_000)}`,
    ],
  ])('refuses too large attributes before it reads their values: %s', async (_case, format, text) => {
    const parse = vi.spyOn(JSON, 'parse')
    expect(await read([text], format)).toEqual(tooLarge)
    // Parsing must not use a reviver, which is called for every value.
    expect(parse.mock.calls.filter(([, reviver]) => reviver !== undefined)).toEqual([])
  })
})
