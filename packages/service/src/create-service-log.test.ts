import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { anyTime } from '@trestle/testing/any-text.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { expect, it } from 'vitest'
import { createServiceLog } from './create-service-log.ts'

removeFoldersAtEnd()

it('redacts the rows that an error of PostgreSQL quotes, beside what the service and every log redact', async () => {
  const file = join(createFolder(), 'log')
  const log = createServiceLog({ level: 'info', file, stdout: false, redact: ['card'] })
  const rows = { detail: 'Failing row contains (ada@example.com).', where: 'COPY users, line 1: "ada@example.com"' }
  const err = Object.assign(new Error('null value in column "id"'), { code: '23502', ...rows })
  log.logger.error({ err, card: '4100', password: 'hunter2' }, 'a write failed')
  await log.flush()
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    level: 'error',
    time: anyTime,
    err: {
      type: 'Error',
      message: 'null value in column "id"',
      stack: err.stack,
      code: '23502',
      detail: '[redacted]',
      where: '[redacted]',
    },
    card: '[redacted]',
    password: '[redacted]',
    msg: 'a write failed',
  })
})
