import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLogDestination, createLogger } from './logger.ts'

describe('createLogger', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-log-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date('2026-11-20T10:00:00.000Z'), toFake: ['Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const lineAt = (clock: string) => ({ level: 'info', time: `2026-11-20T${clock}Z`, msg: 'a line' })
  const linesOf = (file: string) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  const secretMembers = ['password', 'secret', 'token', 'access_token', 'refreshToken', 'operatorKey', 'apiKey']
  const secretHeaders = ['authorization', 'cookie', 'set-cookie', 'apikey', 'idempotency-key', 'x-trestle-operator-key']
  const allOf = (names: readonly string[], value: string) => Object.fromEntries(names.map((name) => [name, value]))
  const credentials = (value: string) => allOf([...secretMembers, ...secretHeaders], value)

  it.each([
    ['the line itself', credentials],
    ['an object of the line', (value: string) => ({ session: { ...credentials(value), id: 1 } })],
    ['headers', (value: string) => ({ headers: { ...credentials(value), accept: 'text/html' } })],
    [
      'the headers of a request and an answer',
      (value: string) => ({
        req: { method: 'GET', headers: { ...allOf(secretHeaders, value), accept: 'text/html' } },
        res: { statusCode: 200, headers: allOf(secretHeaders, value) },
      }),
    ],
  ])('writes no credential in %s', async (place, members) => {
    const file = join(folder, `${place}.log`)
    const log = createLogger({ level: 'info', file, stdout: false })
    const line = members('not-for-the-log')
    log.logger.info(line, 'a line')
    log.logger.child({ component: 'api' }).info(line, 'a line')
    await log.flush()
    const written = { ...lineAt('10:00:00.000'), ...members('[redacted]') }
    expect(linesOf(file)).toEqual([written, { ...written, component: 'api' }])
  })

  it('writes no credential in the headers that an error has', async () => {
    const file = join(folder, 'error.log')
    const log = createLogger({ level: 'info', file, stdout: false })
    const failure = (value: string) => ({ headers: allOf(secretHeaders, value), apiKey: value })
    log.logger.error(Object.assign(new Error('no answer'), failure('not-for-the-log')), 'a line')
    await log.flush()
    const [line] = linesOf(file)
    expect(line.err).toEqual({
      type: 'Error',
      message: 'no answer',
      stack: expect.any(String),
      ...failure('[redacted]'),
    })
  })

  // ASVS 16.2.2
  it('writes the time of each line, to the millisecond', async () => {
    const file = join(folder, 'timed.log')
    const log = createLogger({ level: 'info', file, stdout: false })
    for (const milliseconds of [0, 0, 1, 2, 60_000]) {
      vi.advanceTimersByTime(milliseconds)
      log.logger.info('a line')
    }
    await log.flush()
    expect(linesOf(file)).toEqual([
      ...[lineAt('10:00:00.000'), lineAt('10:00:00.000'), lineAt('10:00:00.001'), lineAt('10:00:00.003')],
      lineAt('10:01:00.003'),
    ])
  })

  it('writes to a new file after the old one was moved', async () => {
    const file = join(folder, 'moved.log')
    const log = createLogger({ level: 'info', file, stdout: false })
    renameSync(file, `${file}.1`)
    await log.reopen()
    log.logger.info('a line')
    await log.flush()
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('')
    expect(linesOf(file)).toEqual([lineAt('10:00:00.000')])
  })
})

describe('createLogDestination', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-log-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('writes to a new file after the old one was moved', async () => {
    const file = join(folder, 'moved.log')
    writeFileSync(file, 'oldest\n')
    const log = createLogDestination({ file }, () => expect.unreachable())
    log.write(Buffer.from('old\n'))
    renameSync(file, `${file}.1`)
    await log.reopen()
    log.write(Buffer.from('new\n'))
    await log.flush()
    expect([readFileSync(`${file}.1`, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['oldest\nold\n', 'new\n'])
  })

  it('writes to the old file when a new one cannot be opened', async () => {
    const parent = mkdtempSync(join(folder, 'gone-'))
    const errors: string[] = []
    const log = createLogDestination({ file: join(parent, 'log') }, ({ message }) => void errors.push(message))
    renameSync(parent, `${parent}.1`)
    await log.reopen()
    log.write(Buffer.from('a line\n'))
    await log.flush()
    expect(readFileSync(join(`${parent}.1`, 'log'), 'utf8')).toBe('a line\n')
    expect(errors).toEqual([expect.stringContaining('ENOENT')])
  })

  /** Starts a process that logs `count` lines, reports this on standard error, and then runs the program. */
  function startLogging(stdout: number, count: number, program: string) {
    const source = `import { createLogger } from ${JSON.stringify(import.meta.resolve('./logger.ts'))}
  const log = createLogger({ level: 'info' })
  for (let i = 0; i < ${count}; i++) log.logger.info({ i }, 'line')
  process.stderr.write('logged\\n')
  ${program}`
    const args = ['--input-type=module', '--eval', source]
    const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'pipe'] })
    const chunks: Buffer[] = []
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
    onTestFinished(() => void child.kill('SIGKILL'))
    return { stderr: () => Buffer.concat(chunks).toString(), closed: once(child, 'close') }
  }

  it('lets a process end when its standard output is a full disk', async () => {
    const logging = startLogging(openSync('/dev/full', 'a'), 1, 'await log.flush(); process.exit(7)')
    expect(await logging.closed).toEqual([7, null])
    expect(logging.stderr()).toMatch(/^logged\nstandard output: ENOSPC.*; lines are lost\n$/)
  })

  /** Opens a pipe on which writes may block. */
  function openPipe(name: string) {
    const file = join(folder, name)
    execFileSync('mkfifo', [file])
    const writer = openSync(file, constants.O_RDWR)
    return { writer, reader: openSync(file, 'r') }
  }

  /** Returns the code of the error that a function throws, or `undefined` if it throws none. */
  function codeOf(run: () => void): unknown {
    try {
      run()
    } catch (error) {
      return error instanceof Error && 'code' in error ? error.code : error
    }
  }

  it('writes to a pipe like to a file, and does not wait for its reader', async () => {
    const { writer, reader } = openPipe('as-file')
    const errors: string[] = []
    const log = createLogDestination({ file: join(folder, 'as-file') }, ({ message }) => void errors.push(message))
    log.write(Buffer.alloc(100_000, 'x'))
    log.flushSync()
    expect(errors).toEqual([expect.stringContaining('EAGAIN')])
    for (const descriptor of [writer, reader]) closeSync(descriptor)
    // Poll, because a process that another test starts at this moment inherits the descriptors for a short time.
    const open = () => closeSync(openSync(join(folder, 'as-file'), constants.O_WRONLY | constants.O_NONBLOCK))
    await expect.poll(() => codeOf(open)).toBe('ENXIO')
    expect(() => createLogDestination({ file: join(folder, 'as-file') }, () => {})).toThrow('ENXIO')
  })

  it('lets a process end when nobody reads its standard output', async () => {
    const { writer, reader } = openPipe('unread')
    const logging = startLogging(writer, 3_000, 'process.exit(7)')
    expect(await logging.closed).toEqual([7, null])
    expect(logging.stderr()).toMatch(/^logged\nstandard output: EAGAIN.*; lines are lost\n$/)
    for (const descriptor of [writer, reader]) closeSync(descriptor)
  })

  async function readLines(reader: number): Promise<readonly number[]> {
    const chunks = await createReadStream('', { fd: reader }).toArray()
    const lines = Buffer.concat(chunks).toString().trim().split('\n')
    return lines.map((line) => JSON.parse(line).i)
  }

  it('loses no line of a process that flushes and ends before its reader begins', async () => {
    const { writer, reader } = openPipe('late')
    const logging = startLogging(writer, 40_000, 'await log.flush(); process.exit(0)')
    closeSync(writer)
    await expect.poll(logging.stderr).toBe('logged\n')
    expect(await readLines(reader)).toEqual(Array.from({ length: 40_000 }, (_, i) => i))
    expect([await logging.closed, logging.stderr()]).toEqual([[0, null], 'logged\n'])
  })

  it('loses no line of a process that ends while it writes', async () => {
    const { writer, reader } = openPipe('early')
    const lines = readLines(reader)
    const logging = startLogging(writer, 1_500, 'setImmediate(() => setImmediate(() => process.exit(0)))')
    closeSync(writer)
    expect(await lines).toEqual(Array.from({ length: 1_500 }, (_, i) => i))
    expect([await logging.closed, logging.stderr()]).toEqual([[0, null], 'logged\n'])
  })
})
