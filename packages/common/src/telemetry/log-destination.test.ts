import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLogDestination } from './log-destination.ts'

const folder = mkdtempSync(join(tmpdir(), 'log-'))

function openLog(name: string) {
  const file = join(folder, name)
  const errors: string[] = []
  const onError = (error: Error) => void errors.push(error.message)
  return { file, errors, log: createLogDestination({ descriptor: openSync(file, 'a'), file, onError }) }
}

/** Reads at least so many bytes of text, in this turn: what is being written in the background arrives meanwhile. */
function readPipe(pipe: number, atLeast: number): string {
  const bytes = Buffer.alloc(200_000)
  let length = 0
  for (const start = performance.now(); length < atLeast && performance.now() - start < 5_000; ) {
    try {
      length += readSync(pipe, bytes, { offset: length })
    } catch (error) {
      expect(error).toMatchObject({ code: 'EAGAIN' })
    }
  }
  return bytes.toString('utf8', 0, length)
}

it('writes by itself, in order, whatever the size', async () => {
  const { file, errors, log } = openLog('app.log')
  const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i} ü ${'x'.repeat(i % 50)}\n`)
  for (const line of lines) log.write(Buffer.from(line))
  await expect.poll(() => readFileSync(file, 'utf8')).toBe(lines.join(''))
  expect(errors).toEqual([])
})

it('has written all it was given when it is flushed, in order, also what it was writing', async () => {
  const { file, log } = openLog('flushed.log')
  const line = (i: number) => `line ${i} ${'x'.repeat(1_000_000)}\n`
  for (let i = 0; i < 20; i++) {
    log.write(Buffer.from(line(i)))
    // Now it is being written.
    await setImmediate()
    log.write(Buffer.from(line(i + 0.5)))
    await log.flush()
    expect(readFileSync(file, 'utf8').endsWith(line(i) + line(i + 0.5))).toBe(true)
  }
})

it('loses nothing of what a full pipe did not take in time', async () => {
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  const pipe = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const log = createLogDestination({ descriptor: pipe, onError: () => expect.unreachable() })
  const text = Array.from({ length: 9_000 }, (_, i) => `line ${i}\n`).join('')
  log.write(Buffer.from(text))
  await log.flush()
  const first = readPipe(pipe, 1)
  log.flushSync()
  expect(first + readPipe(pipe, text.length - first.length)).toBe(text)
  closeSync(pipe)
})

it('goes on in a new file after the old one was moved', async () => {
  const { file, log } = openLog('moved.log')
  log.write(Buffer.from('old\n'))
  renameSync(file, `${file}.1`)
  await log.reopen()
  log.write(Buffer.from('new\n'))
  await log.flush()
  expect([readFileSync(`${file}.1`, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['old\n', 'new\n'])
})

it('drops what a full disk does not take, says so once, and ends its flush', async () => {
  const errors: string[] = []
  const onError = (error: Error) => void errors.push(error.message)
  const log = createLogDestination({ descriptor: openSync('/dev/full', 'a'), onError })
  log.write(Buffer.from('lost\n'))
  await log.flush()
  log.write(Buffer.from('lost too\n'))
  log.flushSync()
  log.write(Buffer.from('lost as well\n'))
  await log.flush()
  expect(errors).toEqual([expect.stringContaining('ENOSPC')])
})

it('lets a process end whose standard output is a full disk', async () => {
  const program = `import { createLogger } from ${JSON.stringify(import.meta.resolve('./logger.ts'))}
createLogger({ level: 'info' }).logger.info('lost')
setTimeout(() => process.exit(7), 400)`
  const args = ['--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', openSync('/dev/full', 'a'), 'pipe'] })
  const chunks: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
  expect(await once(child, 'close')).toEqual([7, null])
  expect(Buffer.concat(chunks).toString()).toMatch(/^standard output: ENOSPC.*; lines are lost\n$/)
})
