import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { followLogs, formatLine, readLastLines, showLastLines } from './show-logs.ts'

removeFoldersAtEnd()

/** Returns a log line of a service, at the given second of a fixed minute in UTC. */
function entry(second: number, members: object): string {
  const time = `2026-11-23T12:00:${String(second).padStart(2, '0')}.000Z`
  return `${JSON.stringify({ level: 'info', time, component: 'api', ...members })}\n`
}

const request = (second: number, path: string, status: number, more: object = {}) =>
  entry(second, {
    request_id: 'id',
    method: 'GET',
    path,
    route: path,
    status,
    duration_ms: 3.735,
    ...more,
    msg: 'request',
  })

/** Returns the shown text without colours, time and service name. */
const plain = (text: string) => stripVTControlCharacters(text).replace(/^.{8} \w+ +/, '')

describe('formatLine', () => {
  it.each([
    [request(1, '/health', 200), false, 'GET      /health  200  4 ms'],
    [
      request(1, '/user', 401, { level: 'warn', error_code: 'no_authorization' }),
      true,
      'GET      /user  401  4 ms  no_authorization',
    ],
    [
      request(1, '/user', 500, {
        error_code: 'unexpected_failure',
        err: { message: 'boom', stack: 'Error: boom\n    at f (/repo/a.ts:1:2)' },
      }),
      true,
      'GET      /user  500  4 ms  unexpected_failure  boom (/repo/a.ts:1)',
    ],
    [
      entry(1, { msg: 'migrated', migrations: ['a', 'b'], port: 1, held: null }),
      false,
      'info     migrated  migrations=2 port=1',
    ],
    [entry(1, { msg: 'job failed', level: 'warn', error_code: 'late' }), true, 'warn     job failed  error_code=late'],
    ['{"not":"a line of the log"}', true, '{"not":"a line of the log"}'],
    ['{broken', true, '{broken'],
    [
      `${process.cwd()}/services/auth/src/app.ts:3: SyntaxError: Expression expected`,
      true,
      'services/auth/src/app.ts:3: SyntaxError: Expression expected',
    ],
    [
      `    at serve (file://${process.cwd()}/services/auth/src/app.ts:3:1)`,
      true,
      'at serve (services/auth/src/app.ts:3:1)',
    ],
    ['2026-11-23 12:00:01.000 UTC [7] LOG:  ready', false, 'LOG:  ready'],
    ['2026-11-23 12:00:01.000 UTC [7] ERROR:  no such table', true, 'ERROR:  no such table'],
  ])('shows %s (an error: %s) as %j', (line, isError, text) => {
    const shown = formatLine('auth', line.trimEnd())
    expect([shown?.isError, plain(shown?.text ?? '')]).toEqual([isError, text])
  })

  it('leaves out what the stack itself causes when it waits for a service', () => {
    expect(formatLine('auth', entry(1, { level: 'warn', msg: 'The process is starting' }).trimEnd())).toBeUndefined()
  })
})

describe('readLastLines', () => {
  it('reads the end of a file that is larger than one piece', () => {
    const file = join(createFolder(), 'large.log')
    const lines = Array.from({ length: 3_000 }, (_, index) => `${index} ${'ß'.repeat(50)}`)
    writeFileSync(file, `${lines.join('\n')}\n`)
    expect(readLastLines(file, 2_500).lines).toEqual(lines.slice(-2_500))
    expect(readLastLines(file, 0).lines).toEqual([])
    expect(readLastLines(join(file, '..', 'none.log'), 5)).toEqual({ lines: [], size: 0 })
  })
})

describe('the logs of several services', () => {
  it('are shown in the order of their times, and then as they come, also after a log was moved away', async () => {
    const directory = createFolder()
    const file = (name: string) => join(directory, `${name}.log`)
    writeFileSync(file('auth'), [request(1, '/a', 200), request(3, '/c', 400), 'Error: of c\n'].join(''))
    writeFileSync(file('payments'), request(2, '/b', 500))
    const lines: string[] = []
    const options = {
      directory,
      names: ['auth', 'payments'],
      onlyErrors: true,
      say: (line: string) => void lines.push(plain(line)),
    }
    const sizes = showLastLines(options, 20)
    expect(lines).toEqual(['GET      /b  500  4 ms', 'GET      /c  400  4 ms', 'Error: of c'])
    lines.length = 0
    const stop = new AbortController()
    const follower = followLogs(options, sizes)
    appendFileSync(file('auth'), request(4, '/d', 200) + request(5, '/e', 404).slice(0, 40))
    follower.showNew()
    expect(lines).toEqual([])
    appendFileSync(file('auth'), request(5, '/e', 404).slice(40))
    follower.showNew()
    expect(lines).toEqual(['GET      /e  404  4 ms'])
    const over = follower.showAll(stop.signal)
    renameSync(file('payments'), file('old'))
    writeFileSync(file('payments'), request(6, '/f', 503))
    await expect.poll(() => lines).toEqual(['GET      /e  404  4 ms', 'GET      /f  503  4 ms'])
    stop.abort()
    await over
  })
})
