import { describe, expect, it } from 'vitest'
import { brokenRecord, gatherBatches, type ImportRecord, type RecordBatch } from './import-record.ts'

const product = (line: number, attributes = '{}'): ImportRecord => ({ line, sku: `${line}`, attributes })
const products = (count: number, attributes?: string) =>
  Array.from({ length: count }, (_, n) => product(n + 1, attributes))
const MEBIBYTE = 'x'.repeat(1_048_576)

/** The batches of a file that arrives in pieces. The clock returns each of `times`, then always the last. */
async function batchesOf(pieces: readonly (readonly ImportRecord[])[], times = [0]): Promise<readonly RecordBatch[]> {
  const [start = 0, ...later] = times
  let time = start
  const now = () => {
    const shown = time
    time = later.shift() ?? time
    return shown
  }
  const batches: RecordBatch[] = []
  for await (const batch of gatherBatches(arrive(pieces), now)) batches.push(batch)
  return batches
}

async function* arrive(pieces: readonly (readonly ImportRecord[])[]) {
  yield* pieces
}

describe('gatherBatches', () => {
  it.each([
    ['no record', [], ['0 + 0']],
    ['499 records', products(499), ['499 + 0']],
    ['501 records', products(501), ['500 + 0', '1 + 0']],
    ['a broken record and 500 others', [brokenRecord(0, 'no JSON'), ...products(500)], ['499 + 1', '1 + 0']],
    ['five records of a mebibyte', products(5, MEBIBYTE), ['4 + 0', '1 + 0']],
  ])('gives a batch at most 500 records and four mebibytes of attributes: %s', async (_case, records, sizes) => {
    const batches = await batchesOf([records])
    expect(batches.map((batch) => `${batch.products.length} + ${batch.problems.length}`)).toEqual(sizes)
  })

  it('ends a batch when a record arrives a second after its begin', async () => {
    const batches = await batchesOf([[product(1)], [product(2)], [product(3)]], [0, 999, 1_000])
    expect(batches.map((batch) => batch.products.map(({ line }) => line))).toEqual([[1, 2], [3]])
  })

  it('gives the records in front of the place where a file breaks off', async () => {
    async function* breakOff() {
      yield [product(1), brokenRecord(2, 'no JSON')]
      throw new Error('a bad byte')
    }
    const batches: RecordBatch[] = []
    const read = async () => {
      for await (const batch of gatherBatches(breakOff(), () => 0)) batches.push(batch)
    }
    await expect(read()).rejects.toThrow('a bad byte')
    expect(batches.map(({ products: good, problems }) => [...good, ...problems].map(({ line }) => line))).toEqual([
      [1, 2],
    ])
  })
})
