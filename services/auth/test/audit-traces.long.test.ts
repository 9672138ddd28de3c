import { Command } from 'commander'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { keysCommand } from '../src/commands/keys.ts'
import { challenge, enrolApp } from './authenticator-app.ts'
import { anyId } from './bodies.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn } from './signed-in.ts'

const Payload = z.object({ action: z.string(), actor_id: z.string(), traits: z.unknown().optional() })
const NOBODY = '00000000-0000-0000-0000-000000000000'
const PROVIDER = {
  provider_type: 'oauth2',
  identifier: 'custom:one',
  name: 'One',
  client_id: 'client',
  client_secret: 'a secret of the company',
  authorization_url: 'https://idp.example.com/auth',
  token_url: 'https://idp.example.com/token',
  userinfo_url: 'https://idp.example.com/me',
}

let service: MailApp
beforeAll(async () => {
  service = await openMailApp({
    AUTH_CUSTOM_OAUTH_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
  })
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('audit_log_entries').execute())

/** The entries of some actions with action, actor and traits, oldest first. */
async function entriesOf(...actions: readonly string[]): Promise<readonly unknown[]> {
  await service.idle()
  const query = service.deps.db.selectFrom('audit_log_entries').select('payload').where('action', 'in', actions)
  const rows = await query.orderBy('created_at').orderBy('id').execute()
  return rows.map(({ payload }) => {
    const { action, actor_id, traits } = Payload.parse(payload)
    return [action, actor_id, traits]
  })
}

describe('the audit log', () => {
  it('has an entry for a custom provider that is made, changed or deleted, without its secret', async () => {
    const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) =>
      (
        await service.app.inject({
          method,
          url: `/admin/custom-providers${path}`,
          headers: OPERATOR,
          ...(payload ? { payload } : {}),
        })
      ).statusCode
    expect([
      await call('POST', '', PROVIDER),
      await call('POST', '', PROVIDER),
      await call('PUT', '/custom:one', { name: 'Two', client_secret: 'another secret' }),
      await call('PUT', '/custom:none', { name: 'Two' }),
      await call('DELETE', '/custom:one'),
      await call('DELETE', '/custom:one'),
    ]).toEqual([201, 409, 200, 404, 204, 404])
    const traits = { provider: 'custom:one', provider_id: anyId }
    expect(await entriesOf('provider_created', 'provider_updated', 'provider_deleted')).toEqual([
      ['provider_created', NOBODY, traits],
      ['provider_updated', NOBODY, { ...traits, changed: ['name', 'client_secret'] }],
      ['provider_deleted', NOBODY, traits],
    ])
  })

  it('has an entry for a key that a command changes, and none for a command that changes nothing', async () => {
    const run = async (...words: readonly string[]) => {
      const open = async () => ({ ...service.deps, close: async () => {} })
      const command = keysCommand({ open, print: () => {} }, async () => {})
      await new Command()
        .exitOverride()
        .addCommand(command)
        .parseAsync(['keys', ...words], { from: 'user' })
    }
    await run('add', '--kid', 'one')
    await expect(run('add', '--kid', 'one')).rejects.toEqual(
      new Error('the key id one is taken, and never given again'),
    )
    await run('retire', 'one')
    await run('retire', 'one')
    const action = 'signing-keys.manage'
    const object = { kind: 'signing-key', id: 'one' }
    expect(await entriesOf(`operator.${action}`)).toEqual([
      [`operator.${action}`, NOBODY, { action, object, changes: { algorithm: 'ES256', state: 'next' } }],
      [`operator.${action}`, NOBODY, { action, object, changes: { state: 'retired' } }],
    ])
  })

  it('has an entry for a wrong password of a user, and of nobody', async () => {
    const { user, email } = await createSignedIn(service)
    for (const address of [email, 'nobody@example.com']) {
      await service.post('/token?grant_type=password', { email: address, password: 'wrong' })
    }
    expect(await entriesOf('login_failed')).toEqual([
      ['login_failed', user.id, { provider: 'email' }],
      ['login_failed', NOBODY, { provider: 'email' }],
    ])
  })

  it('has an entry for a wrong code of a user, and of nobody', async () => {
    const { user, email } = await createSignedIn(service)
    for (const address of [email, 'nobody@example.com']) {
      await service.post('/verify', { type: 'magiclink', email: address, token: '000000' })
    }
    expect(await entriesOf('verification_failed')).toEqual([
      ['verification_failed', user.id, { type: 'magiclink' }],
      ['verification_failed', NOBODY, { type: 'magiclink' }],
    ])
  })

  it('has an entry for a wrong current password, and for a wrong code of a factor', async () => {
    const { user, headers } = await createSignedIn(service)
    const payload = { password: 'a new password', current_password: 'wrong' }
    await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
    const { factorId } = await enrolApp(service, headers)
    const id = await challenge(service, headers, factorId)
    await service.post(`/factors/${factorId}/verify`, { challenge_id: id, code: '000000' }, headers)
    expect(await entriesOf('reauthentication_failed', 'factor_verification_failed')).toEqual([
      ['reauthentication_failed', user.id, { proof: 'password' }],
      ['factor_verification_failed', user.id, { factor_id: factorId, challenge_id: id }],
    ])
  })

  it('has an entry for a change that is sent again, and for the first of two addresses that agrees', async () => {
    const { user, email, headers } = await createSignedIn(service)
    const wanted = `new-${email}`
    await service.app.inject({ method: 'PUT', url: '/user', headers, payload: { email: wanted } })
    await Promise.all([service.readMail(email), service.readMail(wanted)])
    service.clock.advance(60_000)
    expect((await service.post('/resend', { type: 'email_change', email })).statusCode).toBe(200)
    const { token } = await service.readMail(wanted)
    await service.post('/verify', { type: 'email_change', token_hash: token })
    expect(await entriesOf('user_confirmation_requested', 'user_modified')).toEqual([
      ['user_modified', user.id, undefined],
      ['user_confirmation_requested', user.id, { provider: 'email' }],
      ['user_modified', user.id, { provider: 'email', confirmed_by: 'new' }],
    ])
  })
})
