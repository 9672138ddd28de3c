import { describe, expect, it } from 'vitest'
import { createProgressBar, renderProgress } from './transfer.ts'

it.each([
  [0, 10, `[${'-'.repeat(30)}]   0 %`],
  [5, 10, `[${'#'.repeat(15)}${'-'.repeat(15)}]  50 %`],
  [10, 10, `[${'#'.repeat(30)}] 100 %`],
  [0, 0, `[${'#'.repeat(30)}] 100 %`],
  [1_572_864, undefined, '1.5 MiB'],
])('renders %i of %j bytes', (bytes, total, text) => {
  expect(renderProgress(bytes, total)).toBe(text)
})

describe('createProgressBar', () => {
  async function written(isTTY: boolean): Promise<string> {
    const pieces: string[] = []
    const write = (piece: string | Uint8Array): boolean => pieces.push(String(piece)) > 0
    const bar = createProgressBar({ isTTY, write }, 4)
    async function* source() {
      yield new Uint8Array(2)
      yield new Uint8Array(2)
    }
    for await (const _ of bar.watch(source())) bar.show(7)
    bar.end()
    bar.end()
    return pieces.join('')
  }

  it('draws on one line of a terminal, and ends that line once', async () => {
    expect((await written(true)).split('\r').map((line) => line.slice(-17))).toEqual([
      '',
      ']  50 %  7 products'.slice(-17),
      '100 %  7 products\n'.slice(-17),
    ])
  })

  it('writes nothing to other outputs', async () => {
    expect(await written(false)).toBe('')
  })
})
