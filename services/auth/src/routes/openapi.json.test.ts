import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody } from '../../test/bodies.ts'

const committed = JSON.parse(readFileSync(new URL('../../../../docs/openapi/auth.json', import.meta.url), 'utf8'))
const open = await openTestApp()
const silent = await openTestApp({ settings: { AUTH_DOCS_ENABLED: 'false' } })
removeFoldersAtEnd()
afterAll(() => Promise.all([open.close(), silent.close()]))

it('200 and 304: GET /openapi.json serves the API document of the repository by default, whatever .env says, and lets it be cached', async () => {
  const started = process.cwd()
  const folder = newFolder()
  writeFileSync(join(folder, '.env'), 'AUTH_PROFILE=strict\nAUTH_SITE_URL=http://localhost:3000\n')
  process.chdir(folder)
  // The document is made by a process that starts in the working directory of the service.
  const answer = await open.app.inject('/openapi.json').finally(() => process.chdir(started))
  expect([answer.statusCode, answer.headers['cache-control'], answer.json()]).toEqual([200, 'no-cache', committed])
  const condition = { 'if-none-match': String(answer.headers.etag) }
  const again = await open.app.inject({ url: '/openapi.json', headers: condition })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

// ASVS 13.4.5
it('404: GET /openapi.json is not found when the documents are switched off', async () => {
  const answer = await silent.app.inject('/openapi.json')
  expect([answer.statusCode, answer.json()]).toEqual([404, errorBody(404, 'not_found', 'Not found')])
})
