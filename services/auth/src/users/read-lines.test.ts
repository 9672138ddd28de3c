import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLines } from './read-foreign-users.ts'

async function read(...chunks: readonly string[]) {
  const lines = []
  for await (const { number, bytes } of readLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk))))) {
    lines.push([number, bytes?.toString() ?? null])
  }
  return lines
}

describe('readLines', () => {
  it.each([
    ['nothing', [''], []],
    ['one line', ['a'], [[1, 'a']]],
    ['an end that is marked', ['a\n'], [[1, 'a']]],
    [
      'empty lines, which count',
      ['a\n\n \t\r\nb\n'],
      [
        [1, 'a'],
        [4, 'b'],
      ],
    ],
    [
      'a line in pieces',
      ['a', 'b', 'c\nd', '\n'],
      [
        [1, 'abc'],
        [2, 'd'],
      ],
    ],
    [
      'a line of a mebibyte',
      ['x'.repeat(1_048_576), '\nb'],
      [
        [1, 'x'.repeat(1_048_576)],
        [2, 'b'],
      ],
    ],
    [
      'a line that is too long as null',
      ['x'.repeat(1_048_576), 'x', 'y\nb'],
      [
        [1, null],
        [2, 'b'],
      ],
    ],
  ])('reads %s: the pieces %j are the lines %j', async (_case, chunks, expected) => {
    expect(await read(...chunks)).toEqual(expected)
  })

  it('keeps characters whole wherever a chunk ends', async () => {
    const text = Buffer.from('{"a":"é😀"}\n{"b":"日本"}\n')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), text.length]
        const chunks = ends.map((end, i) => text.subarray(ends[i - 1] ?? 0, end))
        const lines: string[] = []
        for await (const { bytes } of readLines(Readable.from(chunks))) lines.push(bytes?.toString() ?? '')
        expect(lines).toEqual(['{"a":"é😀"}', '{"b":"日本"}'])
      }),
    )
  })
})
