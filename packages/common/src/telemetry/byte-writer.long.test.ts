import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createByteQueue, createByteWriter, writeNow } from './logger.ts'

const folder = mkdtempSync(join(tmpdir(), 'trestle-bytes-'))
afterAll(() => rmSync(folder, { recursive: true }))

function openFile(name: string) {
  const file = join(folder, name)
  return { file, descriptor: openSync(file, 'a') }
}

/** Compares inodes, because other test threads may open files and reuse the descriptor. */
function isOpen({ file, descriptor }: ReturnType<typeof openFile>): boolean {
  try {
    return fstatSync(descriptor).ino === statSync(file).ino
  } catch {
    return false
  }
}

/** Reads the last `length` bytes of a large file. */
function endOf(file: string, length: number): string {
  const descriptor = openSync(file, 'r')
  const bytes = Buffer.alloc(length)
  const count = readSync(descriptor, bytes, 0, length, statSync(file).size - length)
  closeSync(descriptor)
  return bytes.toString('latin1', 0, count)
}

function writeTo(descriptor: number) {
  const errors: string[] = []
  return { errors, writer: createByteWriter(descriptor, ({ message }) => void errors.push(message)) }
}

/** A pipe without blocking writes. Only `read` reads it. It stays open, so that the rest is written later. */
function openPipe(name: string) {
  const file = join(folder, name)
  execFileSync('mkfifo', [file])
  const descriptor = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
  const bytes = Buffer.alloc(1_000_000)
  const read = (): string => {
    try {
      return bytes.toString('latin1', 0, readSync(descriptor, bytes))
    } catch (error) {
      expect(error).toHaveProperty('code', 'EAGAIN')
      return ''
    }
  }
  return { descriptor, read }
}

const lines = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i}\n`).join('')

describe('a file', () => {
  it('gets every byte in order without a flush, whatever the size', async () => {
    const { file, descriptor } = openFile('by-itself')
    const { writer, errors } = writeTo(descriptor)
    const pieces = Array.from({ length: 5_000 }, (_, i) => `line ${i} ü ${'x'.repeat(i % 50)}\n`)
    for (const piece of pieces) writer.write(Buffer.from(piece))
    await expect.poll(() => readFileSync(file, 'utf8')).toBe(pieces.join(''))
    expect(errors).toEqual([])
  })

  it('has every byte once it is flushed, also bytes that were being written', async () => {
    const { file, descriptor } = openFile('flushed')
    const { writer } = writeTo(descriptor)
    const piece = (i: number) => `${i}${'x'.repeat(1_000_000)}\n`
    for (let i = 0; i < 20; i++) {
      writer.write(Buffer.from(piece(i)))
      // Let the write begin.
      await setImmediate()
      writer.write(Buffer.from(piece(i + 0.5)))
      await writer.flush()
      expect(endOf(file, (piece(i) + piece(i + 0.5)).length) === piece(i) + piece(i + 0.5)).toBe(true)
    }
  })

  it('has every byte once when the process ends, also bytes that were being written', async () => {
    const { file, descriptor } = openFile('ended')
    const { writer } = writeTo(descriptor)
    writer.write(Buffer.from('x'.repeat(10_000_000)))
    await setImmediate()
    writer.write(Buffer.from('rest'))
    writer.flushSync()
    await writer.flush()
    const text = readFileSync(file, 'latin1')
    expect([text.length, text.replaceAll('x', '')]).toEqual([10_000_004, 'rest'])
  })

  it('that another file replaces gets the write that is under way, and is then closed', async () => {
    const [old, next] = [openFile('old'), openFile('next')]
    const { writer } = writeTo(old.descriptor)
    const text = 'x'.repeat(10_000_000)
    writer.write(Buffer.from(text))
    await setImmediate()
    writer.moveTo(next.descriptor)
    expect(isOpen(old)).toBe(true)
    writer.write(Buffer.from('new\n'))
    await writer.flush()
    expect(isOpen(old)).toBe(false)
    expect([readFileSync(old.file, 'utf8') === text, readFileSync(next.file, 'utf8')]).toEqual([true, 'new\n'])
  })

  it('that another file replaces is closed at once when no write is under way', () => {
    const [old, next] = [openFile('idle'), openFile('busy')]
    const { writer } = writeTo(old.descriptor)
    writer.moveTo(next.descriptor)
    expect(isOpen(old)).toBe(false)
    writer.write(Buffer.from('new\n'))
    writer.flushSync()
    expect(readFileSync(next.file, 'utf8')).toBe('new\n')
  })
})

describe('a full disk', () => {
  it('loses the bytes that it does not accept, and reports the first failure after a success', async () => {
    const { errors, writer } = writeTo(openSync('/dev/full', 'a'))
    const give = () => writer.write(Buffer.from('lost\n'))
    give()
    await writer.flush()
    give()
    writer.flushSync()
    give()
    await writer.flush()
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
    writer.moveTo(openFile('room').descriptor)
    give()
    await writer.flush()
    writer.moveTo(openSync('/dev/full', 'a'))
    give()
    await writer.flush()
    const full = expect.stringContaining('ENOSPC')
    expect(errors).toEqual([full, full])
  })
})

describe('a full pipe', () => {
  it('gets every byte in order when it is read again', async () => {
    const { descriptor, read } = openPipe('read-again')
    const { writer, errors } = writeTo(descriptor)
    writer.write(Buffer.from(lines('early', 20_000)))
    await setImmediate()
    for (let i = 0; i < 100; i++) writer.write(Buffer.from(lines(`late ${i}`, 100)))
    const flushed = writer.flush()
    let text = ''
    await expect.poll(() => (text += read()), { interval: 1 }).toContain('late 99 99\n')
    await flushed
    const late = Array.from({ length: 100 }, (_, i) => lines(`late ${i}`, 100))
    expect(text === lines('early', 20_000) + late.join('')).toBe(true)
    expect(errors).toEqual([])
  })

  it('is waited for by a flush, for five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { writer } = writeTo(openPipe('dead').descriptor)
    writer.write(Buffer.from(lines('line', 9_000)))
    let isOver = false
    void writer.flush().then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(4_999)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isOver).toBe(true)
  })

  it('gets the bytes that still wait when the process ends', async () => {
    const { descriptor, read } = openPipe('rest')
    const writer = createByteWriter(descriptor, () => expect.unreachable(), writeNow)
    const text = lines('line', 9_000)
    writer.write(Buffer.from(text))
    await setImmediate()
    const first = read()
    writer.flushSync()
    expect([first.length, first + read() === text]).toEqual([65_536, true])
  })

  it('is waited for at the end of the process, for a second', () => {
    const { descriptor, read } = openPipe('end')
    const { writer, errors } = writeTo(descriptor)
    const text = lines('line', 9_000)
    writer.write(Buffer.from(text))
    // Fake timers do not replace Atomics.wait.
    const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out')
    onTestFinished(() => wait.mockRestore())
    writer.flushSync()
    expect(wait.mock.calls.reduce((sum, [, , , ms]) => sum + Number(ms), 0)).toBe(1_000)
    expect(errors).toEqual([expect.stringContaining('EAGAIN')])
    expect(read()).toBe(text.slice(0, 65_536))
  })

  it('keeps no more than 16 MiB waiting, and reports that it drops lines', async () => {
    const { descriptor, read } = openPipe('stuck')
    const { writer, errors } = writeTo(descriptor)
    const piece = Buffer.alloc(1024 * 1024, 'x')
    for (let i = 0; i < 30; i++) {
      writer.write(piece)
      await setImmediate()
    }
    let length = 0
    let isFlushed = false
    void writer.flush().then(() => {
      isFlushed = true
    })
    const readOn = () => {
      length += read().length
      return isFlushed
    }
    await expect.poll(readOn, { interval: 1 }).toBe(true)
    readOn()
    expect(length / piece.length).toBeGreaterThanOrEqual(16)
    expect(length / piece.length).toBeLessThan(18)
    const dropped = '16 MiB wait to be written; lines are lost'
    expect(errors).toEqual([dropped])
    for (let i = 0; i < 30; i++) writer.write(piece)
    expect(errors).toEqual([dropped, dropped])
  })
})

describe('createByteQueue', () => {
  it('keeps a piece until all of it is written', () => {
    const queue = createByteQueue(100)
    for (const text of ['abc', 'de']) queue.add(Buffer.from(text))
    const seen = [queue.first()]
    for (const count of [1, 2, 2]) {
      queue.drop(count)
      seen.push(queue.first())
    }
    expect(seen.map(String)).toEqual(['abc', 'bc', 'de', 'undefined'])
  })

  it('takes no piece while it is full, counting the piece that is being written', () => {
    const queue = createByteQueue(4)
    for (const text of ['abc', 'de', 'f']) queue.add(Buffer.from(text))
    queue.drop(1)
    queue.add(Buffer.from('g'))
    queue.drop(1)
    queue.add(Buffer.from('h'))
    expect(queue.takeAll().toString()).toBe('cdeh')
    queue.add(Buffer.from('ijkl'))
    expect(queue.takeAll().toString()).toBe('ijkl')
  })

  it('resolves `passed` when earlier bytes have left, whether they were written or taken', async () => {
    const queue = createByteQueue(100)
    const told: string[] = []
    const rememberPassed = (name: string) => void queue.passed().then(() => told.push(name))
    rememberPassed('empty')
    queue.add(Buffer.from('ab'))
    rememberPassed('written')
    queue.add(Buffer.from('cd'))
    rememberPassed('taken')
    queue.drop(1)
    await Promise.resolve()
    expect(told).toEqual(['empty'])
    queue.drop(1)
    await Promise.resolve()
    expect(told).toEqual(['empty', 'written'])
    expect([queue.takeRest().toString(), queue.takeAll().toString()]).toEqual(['', 'cd'])
    await Promise.resolve()
    expect(told).toEqual(['empty', 'written', 'taken'])
  })

  it('hands out all bytes once and in order, whatever the order of its calls', () => {
    const step = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom('drop', 'passed', 'takeAll'),
      fc.nat(9),
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const queue = createByteQueue(Infinity)
        const [given, got]: [Buffer[], Buffer[]] = [[], []]
        const write = (count: number) => {
          const bytes = queue.first()?.subarray(0, count)
          if (!bytes) return
          got.push(bytes)
          queue.drop(bytes.length)
        }
        for (const action of [...steps, 'takeAll'] as const) {
          if (action === 'takeAll') got.push(queue.takeAll())
          else if (action === 'passed') void queue.passed()
          else if (action === 'drop') write(Infinity)
          else if (typeof action === 'number') write(action)
          else {
            given.push(action)
            queue.add(action)
          }
        }
        expect(Buffer.concat(got)).toEqual(Buffer.concat(given))
      }),
    )
  })
})
