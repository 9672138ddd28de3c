import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLogger } from './logger.ts'

const folder = mkdtempSync(join(tmpdir(), 'trestle-log-'))
beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-20T10:00:00.000Z'), toFake: ['Date', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

// ASVS 16.2.2
it('writes the time of each line, to the millisecond', async () => {
  const file = join(folder, 'log')
  const log = createLogger({ level: 'info', file, stdout: false })
  for (const milliseconds of [0, 0, 1, 2, 60_000]) {
    vi.advanceTimersByTime(milliseconds)
    log.logger.info('a line')
  }
  await log.flush()
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const time = (clock: string) => ({ level: 'info', time: `2026-11-20T${clock}Z`, msg: 'a line' })
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    ...[time('10:00:00.000'), time('10:00:00.000'), time('10:00:00.001'), time('10:00:00.003')],
    time('10:01:00.003'),
  ])
})

it('goes on in a new file after somebody moved the old one', async () => {
  const file = join(folder, 'log')
  const log = createLogger({ level: 'info', file, stdout: false })
  renameSync(file, `${file}.1`)
  await log.reopen()
  log.logger.info('a line')
  await log.flush()
  expect(readFileSync(file, 'utf8')).toContain('a line')
})
