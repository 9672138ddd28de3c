import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { anyId } from '../../test/bodies.ts'
import { serviceUnavailable } from '../errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'trestle-callback-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('GET /callback', () => {
  it('303: logs an outage behind its redirect as a warning, like any other 503', async () => {
    const file = join(folder, 'log')
    const { logger, flush } = createLogger({ level: 'warn', stdout: false, file })
    const away = () => {
      throw serviceUnavailable({ cause: new Error('the database is away') })
    }
    const { app, close } = await openTestApp({ logger, replace: () => ({ now: away }) })
    const { statusCode, headers } = await app.inject(`/callback?state=${randomUUID()}`)
    await flush()
    expect([statusCode, headers.location]).toEqual([
      303,
      'http://localhost:3000/?error=temporarily_unavailable&error_code=service_unavailable&error_description=The+service+is+not+available+for+the+moment%2C+please+retry',
    ])
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    await close()
    expect(lines).toEqual([
      {
        level: 'warn',
        time: expect.any(String),
        request_id: anyId,
        err: { type: 'Error', message: 'the database is away', stack: expect.stringContaining('callback.test.ts') },
        error_code: 'service_unavailable',
        msg: 'The service is not available for the moment, please retry',
      },
    ])
  })

  it('405: refuses HEAD, which would end a flow', async () => {
    const { app, close } = await openTestApp()
    const answer = await app.inject({ method: 'HEAD', url: '/callback?state=x' })
    await close()
    expect([answer.statusCode, answer.body]).toEqual([405, ''])
  })
})
