import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { type DatabaseImport, importDatabase } from '../../src/adoption/use-cases/import-database.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { type ExternalApp, openExternalApp } from '../external/external-app.ts'
import { CODE } from '../external/provider-stub.ts'
import { createSignedUp } from '../signed-up.ts'
import { restore } from './adopted-app.ts'
import { runSql, settingsFor } from './restored-database.ts'

/** A provider that an admin of the old server added. The owner of the source can change its URLs. */
const CUSTOM = 'custom:fixture'
const HELD = 'could sign in as users here who were not taken over: create it again by POST /admin/custom-providers'

interface Importing {
  readonly service: ExternalApp
  readonly providerId: string
  readonly run: () => Promise<DatabaseImport>
  readonly atSource: (text: string) => Promise<unknown>
}

/** The service on its own database, and a database of supabase/auth with a custom provider. */
async function openBesideProvider(): Promise<Importing> {
  const { database, deps } = await restore('v2.196.0')
  const { AUTH_DATABASE_URL: _url, ...settings } = settingsFor(database)
  const service = await openExternalApp(settings, { replace: () => ({ now: deps.now }) })
  onTestFinished(() => service.close())
  const { config } = service.deps
  const importDeps = { config, encryptionKeys: toEncryptionKeys(config), now: deps.now, randomBytes }
  const [provider] = await runSql<{ id: string }>(
    database.superuserUrl,
    `SELECT id FROM auth.custom_oauth_providers WHERE identifier = '${CUSTOM}'`,
  )
  return {
    service,
    providerId: provider?.id ?? '',
    run: () => importDatabase(importDeps, { url: database.url, schema: 'auth', force: false }),
    atSource: (text) => runSql(database.superuserUrl, text),
  }
}

/** Signs in at the provider, which confirms any email. @returns the id of the user */
async function signInAs({ app, answer, begin, comeBack }: ExternalApp, email: string): Promise<string> {
  answer((call) =>
    call === 'POST https://203.0.113.9/token'
      ? { body: { access_token: 'x', token_type: 'bearer' } }
      : { body: { sub: `of ${email}`, email, email_verified: true } },
  )
  const { state } = await begin(CUSTOM)
  const { fragment } = await comeBack({ state, code: CODE })
  const headers = { authorization: `Bearer ${fragment.access_token}` }
  return (await app.inject({ url: '/user', headers })).json().id
}

it('takes no custom provider where users were here before: whoever fills the source could sign in as them', async () => {
  const { service, providerId, run } = await openBesideProvider()
  await createSignedUp(service.deps)
  expect((await run()).heldBack).toEqual([{ kind: 'provider', id: providerId, reason: HELD }])
  const begun = await service.app.inject(`/authorize?provider=${CUSTOM}`)
  expect(statusAndBody(begun)).toEqual([
    400,
    errorBody(400, 'validation_failed', 'Unsupported provider: provider is not enabled'),
  ])
})

it('takes a custom provider where all users come from the source, and no change of it once others are here', async () => {
  const { service, providerId, run, atSource } = await openBesideProvider()
  expect((await run()).heldBack).toEqual([])
  const { user, email } = await createSignedUp(service.deps)
  await atSource(`UPDATE auth.custom_oauth_providers SET client_id = 'other', updated_at = now()`)
  expect((await run()).heldBack).toEqual([{ kind: 'provider', id: providerId, reason: HELD }])
  // The provider of the first run, which the operator imported with its users.
  expect(await signInAs(service, email)).toBe(user.id)
})
