import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { rowReader } from './statement-query.ts'

const { TEXT, INT4, INT8 } = pg.types.builtins
const parserOf = (oid: number) => (oid === INT8 ? BigInt : pg.types.getTypeParser(oid))
const column = (name: string, dataTypeID: number) => ({ name, dataTypeID })

describe('rowReader', () => {
  it('parses values by type, and leaves null alone', () => {
    const read = rowReader([column('t', TEXT), column('n', INT4), column('b', INT8)], parserOf)
    expect(read(['1', '2', '3'])).toEqual({ t: '1', n: 2, b: 3n })
    expect(read([null, null, null])).toEqual({ t: null, n: null, b: null })
    expect(Object.keys(read(['1', '2', '3']))).toEqual(['t', 'n', 'b'])
  })

  // ASVS 1.3.2
  it.each(['a "b" \\\' \n `', '', 'constructor', '__proto__', '\u2028', '0'])(
    'accepts a column with the name %j',
    (name) => {
      const row = rowReader([column(name, TEXT), column('next', TEXT)], parserOf)(['x', 'y'])
      expect(Object.entries(row).toSorted()).toEqual(
        [
          [name, 'x'],
          ['next', 'y'],
        ].toSorted(),
      )
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
    },
  )

  it('makes an empty row of no columns, and keeps the last of two columns of one name', () => {
    expect(rowReader([], parserOf)([])).toEqual({})
    expect(rowReader([column('a', TEXT), column('a', TEXT)], parserOf)(['x', null])).toEqual({ a: null })
  })

  it('compiles once for the same columns and parsers', () => {
    const read = rowReader([column('a', INT4)], parserOf)
    expect(rowReader([column('a', INT4)], parserOf)).toBe(read)
    expect(rowReader([column('a', INT8)], parserOf)).not.toBe(read)
    expect(rowReader([column('b', INT4)], parserOf)).not.toBe(read)
    expect(rowReader([column('a', INT4)], () => String)(['1'])).toEqual({ a: '1' })
  })
})
