import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decryptSecret } from '../../src/secrets/encrypted-secret.ts'
import { readRows, spellings } from '../dump.ts'
import { clientSecret, type ExternalApp, openExternalApp } from './external-app.ts'

const folder = mkdtempSync(join(tmpdir(), 'external-'))
const log = createServiceLog({ level: 'debug', file: join(folder, 'log'), stdout: false })
let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp({}, { logger: log.logger })
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

const PLAIN_VERIFIER = 'p'.repeat(43)
const REQUEST_SECRET = 'request-secret-of-the-provider'
const TOKENS = { access_token: 'access-token-of-the-provider', refresh_token: 'refresh-token-of-the-provider' }
const PROFILE = { id: 7, login: 'ada', name: 'Ada' }
const secrets = [PLAIN_VERIFIER, REQUEST_SECRET, ...Object.values(TOKENS), clientSecret('github')]

it('stores and logs no secret of a flow in the clear, neither during the flow nor after it', async () => {
  service.answer((call) => {
    if (call.endsWith('/request_token')) {
      const form = {
        oauth_token: 'request-token',
        oauth_token_secret: REQUEST_SECRET,
        oauth_callback_confirmed: 'true',
      }
      return { body: new URLSearchParams(form).toString() }
    }
    if (call.endsWith('/access_token')) return { body: { ...TOKENS, token_type: 'bearer' } }
    return { body: call.endsWith('/emails') ? [{ email: 'ada@example.com', verified: true, primary: true }] : PROFILE }
  })
  const plain = { code_challenge: PLAIN_VERIFIER, code_challenge_method: 'plain' }
  await service.begin('twitter')
  const { state: waiting } = await service.begin('google')
  const { state } = await service.begin('github', plain)
  const { query } = await service.comeBack({ state, code: 'code-of-the-provider' })
  // The provider refuses. Its answer contains every secret that a log might repeat.
  service.answer(() => ({ status: 400, body: { error: 'x', error_description: TOKENS.access_token, ...TOKENS } }))
  await service.comeBack({ state: (await service.begin('github')).state, code: 'code-of-the-provider' })
  service.answer((call) => (call.endsWith('/access_token') ? { body: { ...TOKENS } } : { body: { ...TOKENS } }))
  await service.comeBack({ state: (await service.begin('github')).state, code: 'code-of-the-provider' })
  // This token is invalid in a header, and the resulting error quotes it.
  service.answer(() => ({ body: { access_token: `${TOKENS.access_token}\n.` } }))
  await service.comeBack({ state: (await service.begin('github')).state, code: 'code-of-the-provider' })

  const { db, encryptionKeys } = service.deps
  const row = db.selectFrom('flow_state').select('provider_pkce_verifier').where('id', '=', waiting)
  const encrypted = (await row.executeTakeFirstOrThrow()).provider_pkce_verifier
  if (!encrypted) throw new Error('the flow has no verifier')
  secrets.push(decryptSecret(encryptionKeys, waiting, encrypted), query.code ?? '', 'code-of-the-provider')
  const rows = await readRows(service.deps)
  expect(rows).toContain(waiting)
  expect(secrets.filter((secret) => spellings(secret).some((text) => rows.includes(text)))).toEqual([])

  const exchange = { auth_code: query.code, code_verifier: PLAIN_VERIFIER }
  const session = (await service.post('/token?grant_type=pkce', exchange)).json()
  expect(session.provider_token).toBe(TOKENS.access_token)
  await log.flush()
  const lines = readFileSync(join(folder, 'log'), 'utf8')
  expect(lines).toContain('"route":"/callback"')
  expect(lines).toContain('the provider answered 400 x')
  const told = [...secrets, session.access_token, session.refresh_token, 'ada@example.com']
  expect(told.filter((secret) => spellings(secret).some((text) => lines.includes(text)))).toEqual([])
})
