import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLineBuffer } from './line-buffer.ts'

function createSink() {
  const texts: string[] = []
  const flush = vi.fn(async () => {})
  return { texts, flush, sink: { write: (bytes: Buffer) => texts.push(bytes.toString()), flush, flushSync: () => {} } }
}

describe('createLineBuffer', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('gives all sinks the same bytes, 200 ms after the first line', () => {
    const [one, two] = [createSink(), createSink()]
    const buffer = createLineBuffer([one.sink, two.sink])
    buffer.write('a\n')
    vi.advanceTimersByTime(150)
    buffer.write('b\n')
    vi.advanceTimersByTime(49)
    expect(one.texts).toEqual([])
    vi.advanceTimersByTime(1)
    buffer.write('c\n')
    vi.advanceTimersByTime(200)
    expect([one.texts, two.texts]).toEqual([
      ['a\nb\n', 'c\n'],
      ['a\nb\n', 'c\n'],
    ])
  })

  it('passes lines on at once when 64 KiB are full, and none twice', () => {
    const { texts, sink } = createSink()
    const buffer = createLineBuffer([sink])
    const line = `${'ü'.repeat(9_999)}\n`
    for (let i = 0; i < 2; i++) buffer.write(line)
    expect(texts).toHaveLength(0)
    buffer.write(line)
    expect(texts).toEqual([line.repeat(2)])
    vi.advanceTimersByTime(1_000)
    expect(texts).toEqual([line.repeat(2), line])
  })

  it('passes on a line that is longer than the buffer, in order', () => {
    const { texts, sink } = createSink()
    const buffer = createLineBuffer([sink])
    const long = `${'€'.repeat(30_000)}\n`
    for (const line of ['a\n', long, 'b\n']) buffer.write(line)
    vi.advanceTimersByTime(200)
    expect(texts).toEqual(['a\n', long, 'b\n'])
  })

  it('flushes its lines, then its sinks', async () => {
    const { texts, sink, flush } = createSink()
    const buffer = createLineBuffer([sink])
    buffer.write('a\n')
    flush.mockImplementation(async () => expect(texts).toEqual(['a\n']))
    await buffer.flush()
    expect(flush).toHaveBeenCalledOnce()
  })
})

describe('a process that ends', () => {
  const logger = JSON.stringify(join(import.meta.dirname, 'logger.ts'))
  const run = (end: string): string => {
    const program = `
      const { createLogger } = await import(${logger})
      createLogger({ level: 'info' }).logger.info('last words')
      ${end}`
    try {
      return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    } catch (error) {
      return error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    }
  }

  it.each([
    ['by itself', ''],
    ['by process.exit', 'process.exit(1)'],
    ['by an error that nobody catches', 'setTimeout(() => { throw new Error("a defect") })'],
  ])('%s still writes its last line, once', (_how, end) => {
    expect(run(end).match(/last words/g)).toEqual(['last words'])
  })
})
