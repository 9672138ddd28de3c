import { prepared } from '@trestle/testing/temporary-database.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { doctor } from '../../src/commands/doctor.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { listCustomProviders } from '../../src/external-providers/custom-provider-repository.ts'
import { warnOfSharedCallback } from '../../src/external-providers/find-provider.ts'
import { openTestApp, type TestApp } from '../auth-app.ts'
import { OPERATOR } from '../forged-token.ts'
import { runAuthWith } from '../run-auth.ts'
import { oauth2 } from './custom-app.ts'

const GITHUB = {
  AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
  AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client',
  AUTH_EXTERNAL_GITHUB_SECRET: 'secret',
  AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://localhost:8081/callback',
}
const SETTINGS = { AUTH_CUSTOM_OAUTH_ENABLED: 'true', ...GITHUB }

let service: TestApp
beforeAll(async () => {
  service = await openTestApp({ settings: SETTINGS })
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('custom_oauth_providers').execute())

const add = async (identifier: string, members: object = {}) => {
  const payload = oauth2(identifier, members)
  const { statusCode } = await service.app.inject({
    method: 'POST',
    url: '/admin/custom-providers',
    payload,
    headers: OPERATOR,
  })
  expect(statusCode).toBe(201)
}
/** Returns the warnings after a change of settings. */
const warnings = async (changes: Readonly<Record<string, string>> = {}) =>
  warnOfSharedCallback(load(changes), await listCustomProviders(service.deps.db, undefined))
const load = (changes: Readonly<Record<string, string>> = {}) =>
  loadAuthConfig({
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: service.database.url,
    AUTH_DB_PREPARED: String(prepared),
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    ...SETTINGS,
    ...changes,
  })
const warningOf = (custom: string, anonymous: string) =>
  `the custom providers ${custom} share /callback, and answers of ${anonymous} name no issuer: who runs one could sign in as users of another. Register /callback/<identifier> there, and set callback to own`

it('warns of a custom provider beside a provider without iss at /callback', async () => {
  await add('custom:new')
  expect(await warnings()).toEqual([])
  await add('custom:old', { callback: 'shared' })
  expect(await warnings()).toEqual([warningOf('custom:old', 'github, custom:old')])
  expect(await warnings({ AUTH_CUSTOM_OAUTH_ENABLED: 'false' })).toEqual([])
  const moved = { AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://localhost:8081/callback/github' }
  expect(await warnings(moved)).toEqual([])
  await add('custom:older', { callback: 'shared' })
  expect(await warnings(moved)).toEqual([warningOf('custom:old, custom:older', 'custom:old, custom:older')])
  await add('custom:off', { callback: 'shared', enabled: false })
  expect(await warnings(moved)).toEqual([warningOf('custom:old, custom:older', 'custom:old, custom:older')])
})

it('warns in doctor, and at the start', async () => {
  await add('custom:old', { callback: 'shared' })
  const lines: string[] = []
  await doctor(load, (line) => lines.push(line))
  const warning = warningOf('custom:old', 'github, custom:old')
  expect(lines.filter((line) => line.includes('/callback'))).toEqual([`note  ${warning}`])
  const started = runAuthWith(['serve'], {
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_API_HOST: '127.0.0.1',
    AUTH_API_PORT: '0',
    AUTH_METRICS_ENABLED: 'false',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: service.database.directUrl,
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    ...SETTINGS,
  })
  await started.waitForOutput(/"level":"warn".*custom:old share \/callback/)
  started.kill()
  await started.exited
})
