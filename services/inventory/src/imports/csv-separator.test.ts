import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readCell } from '../json/json-cell.ts'
import { readSeparatorLine } from './csv-separator.ts'
import { readRecords } from './read-records.ts'

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
  const limits = { bytesMax: 1_000_000, attributesBytesMax: 1_000_000 }
  const blanks = ' '.repeat(100_000)
  const spendMs = async (read: () => unknown) => {
    // Time of this thread alone, in microseconds: a busy machine does not count. A quadratic pattern takes seconds.
    const before = process.threadCpuUsage()
    await read()
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  }
  const readHeader = async (head: string) => {
    const records = readRecords(Readable.from([Buffer.from(head)]), 'csv', limits)
    await expect(Array.fromAsync(records)).rejects.toHaveProperty('status', 400)
  }

  it.each([blanks, `${blanks}"x`, `sep=${blanks}`, `sep=${blanks}"${blanks}x`, `sep=;${blanks}x`, `"${blanks}sep`])(
    'as a header (%#)',
    async (head) => {
      expect(await spendMs(() => readHeader(`${head}\n`))).toBeLessThan(1_000)
    },
  )

  it.each(['-0.', '0.', '1', '1.', '-0.0', '-'])('as a cell that begins with %s and is no number', async (start) => {
    for (const digit of '019') {
      expect(await spendMs(() => readCell(`${start}${digit.repeat(65_536)}x`))).toBeLessThan(500)
    }
  })
})
