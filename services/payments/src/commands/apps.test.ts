import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import {
  basic,
  createTestApp,
  operatorDeps,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { hashToken } from '../members/invitation.ts'
import { appsCommand } from './apps.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const { run } = commandRunner([appsCommand], () => ({
  ...operatorDeps(payments),
  generateApiKey: () => '11111111-1111-4111-8111-111111111111',
}))

const me = (headers: object) => payments.app.inject({ url: '/me', headers: { ...headers } })

describe('payments apps', () => {
  it('create: prints the key, and it is good', async () => {
    const [line = '', ...rest] = await run('apps', 'create', '--name', 'Shop', '--json')
    const app: unknown = JSON.parse(line)
    expect(app).toEqual({ id: expect.any(String), name: 'Shop', key: '11111111-1111-4111-8111-111111111111' })
    expect(rest).toEqual([])
    expect((await me(basic('11111111-1111-4111-8111-111111111111'))).statusCode).toBe(200)
  })

  it('invite: prints a code, and stores only its digest', async () => {
    const [line = ''] = await run('apps', 'invite', '--note', 'for the shop', '--json')
    const { code } = JSON.parse(line)
    expect(code).toMatch(/^[\w-]{43}$/)
    const { db } = payments.database
    const [invitation] = await db.selectFrom('app_invitations').selectAll().execute()
    expect(invitation).toEqual({
      code_hash: hashToken(code),
      note: 'for the shop',
      used: null,
      app_id: null,
      created: expect.any(Date),
      expires: expect.any(Date),
    })
    expect(Number(invitation?.expires) - Number(invitation?.created)).toBe(14 * 86_400_000)
    expect(await lastAudit(payments)).toEqual(operatorAudit('app.invited', { note: 'for the shop', expires: anyTime }))
  })

  it('hide, unhide: marks the app, and adds to the audit log', async () => {
    const { id } = await createTestApp(payments)
    const hidden = async () =>
      (await payments.database.db.selectFrom('apps').select('hidden').where('id', '=', id).executeTakeFirst())?.hidden
    expect(await run('apps', 'hide', id)).toEqual([`id      ${id}`, 'hidden  true'])
    expect(await hidden()).toBe(true)
    expect(await lastAudit(payments)).toEqual(operatorAudit('app.hidden', { appId: id }))
    expect(await run('apps', 'unhide', id, '--json')).toEqual([`{"id":"${id}","hidden":false}`])
    expect(await hidden()).toBe(false)
    expect(await lastAudit(payments)).toEqual(operatorAudit('app.shown', { appId: id }))
  })

  it('revoke-keys: no key is good for the next request', async () => {
    const { id, headers } = await createTestApp(payments)
    await payments.app.inject({ method: 'POST', url: '/me/keys', headers })
    expect(await run('apps', 'revoke-keys', id, '--json')).toEqual([`{"id":"${id}","revoked":2}`])
    expect(statusAndBody(await me(headers))).toEqual(refusals.unauthorized)
    expect(await lastAudit(payments)).toEqual(operatorAudit('app.keys-revoked', { appId: id }))
  })

  it('fails for objects that do not exist, and for wrong arguments', async () => {
    for (const word of ['hide', 'unhide', 'revoke-keys']) {
      await expect(run('apps', word, UNKNOWN_ID)).rejects.toHaveProperty('message', `there is no app ${UNKNOWN_ID}`)
    }
    await expect(run('apps', 'hide')).rejects.toHaveProperty('code', 'commander.missingArgument')
    await expect(run('apps', 'none')).rejects.toHaveProperty('code', 'commander.unknownCommand')
  })
})
