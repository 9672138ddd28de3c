import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { type MailApp, openBeside, openMailApp } from '../../../test/mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, operate, type SignedInOperator } from '../../../test/operators.ts'
import { createSignedUp } from '../../../test/signed-up.ts'
import { describeMail } from '../../messages/message-record.ts'
import { insertMessage, updateMessages } from '../../messages/message-repository.ts'

let test: MailApp
let viewer: SignedInOperator
beforeAll(async () => {
  test = await openMailApp(OPERATOR_SETTINGS)
  viewer = await createOperator(test, 'viewer')
  await test.deps.db.updateTable('users').set({ created_at: '2025-01-01T00:00:00Z' }).execute()
  await test.deps.db.deleteFrom('audit_log_entries').execute()
  await fill()
})
afterAll(() => test.close())

const ask = (service: Pick<TestApp, 'app'> = test) => operate(service, viewer, 'GET /overview')
/** The days of the answer. Days without counts are zero. */
const days = (counts: Readonly<Record<string, readonly [number, number]>>) =>
  Array.from({ length: 30 }, (_, index) => {
    const date = new Date(Date.parse('2025-12-04') + index * 86_400_000).toISOString().slice(0, 10)
    const [sign_ups, sign_ins] = counts[date] ?? [0, 0]
    return { date, sign_ups, sign_ins }
  })
const health = { database: 'ok', mail: 'ok', queue: 'ok' }
/** The whole body, according to the rows that `fill` has stored. */
const overview = (changes: object = {}) => ({
  users: { total: 4, confirmed: 3, banned: 1, anonymous: 1 },
  days: days({ '2025-12-04': [1, 0], '2025-12-31': [0, 1], '2026-01-01': [0, 1], '2026-01-02': [1, 0] }),
  messages: { waiting: 1, failed: 1 },
  health,
  ...changes,
})

async function fill() {
  const { deps } = test
  await createSignedUp(deps, { created_at: '2025-12-03T23:59:59Z', is_anonymous: true })
  await createSignedUp(deps, { created_at: '2025-12-04T00:00:00Z', banned_until: '2100-01-01T00:00:00Z' })
  await createSignedUp(deps, { created_at: '2026-01-02T00:00:00Z', email_confirmed_at: null })
  await createSignedUp(deps, { created_at: '2026-01-02T00:00:00Z', staged_at: new Date() })
  const entry = { ...{ log_type: 'account', payload: {} }, action: 'login' }
  const at = (created_at: string, changes = {}) => ({ ...entry, ...changes, created_at })
  await deps.db
    .insertInto('audit_log_entries')
    .values([
      at('2025-12-03T23:59:59.999999Z'),
      at('2025-12-31T23:59:59.999999Z'),
      at('2026-01-01T00:00:00Z'),
      at('2026-01-01T00:00:00Z', { action: 'token_refreshed', log_type: 'token' }),
    ])
    .execute()
  const ids = Array.from({ length: 3 }, () => randomUUID())
  for (const messageId of ids)
    await insertMessage(deps.db, describeMail({ kind: 'RECOVERY', to: 'a@example.com', messageId, userId: messageId }))
  await updateMessages(deps.db, ids.slice(0, 1), { status: 'failed', attempt: 1, error: 'SMTP' })
  await updateMessages(deps.db, ids.slice(1, 2), { status: 'sent', attempt: 1 })
}

describe('GET /operator/overview', () => {
  it('200: counts users, sign-ups and sign-ins by UTC day, and messages', async () => {
    expect(await ask()).toEqual([200, overview()])
  })

  it('200: answers the same for a minute', async () => {
    const first = await ask()
    const { user } = await createSignedUp(test.deps)
    expect(await ask()).toEqual(first)
    const beside = await openBeside(test, OPERATOR_SETTINGS)
    const later = await ask(beside)
    await beside.close()
    await test.deps.db.deleteFrom('users').where('id', '=', user.id).execute()
    const users = { total: 5, confirmed: 4, banned: 1, anonymous: 1 }
    // The settings of this process name another mail server.
    expect(later).toEqual([200, overview({ users, health: { ...health, mail: 'does not answer' } })])
  })

  it('200: says what is wrong with mail server and queue', async () => {
    // This app has no worker, and nothing listens on the port of its mail server.
    const alone = await openTestApp({ settings: OPERATOR_SETTINGS, database: test.database })
    const broken = { database: 'ok', mail: 'does not answer', queue: 'does not work on jobs' }
    expect(await ask(alone)).toEqual([200, overview({ health: broken })])
    await alone.close()
  })

  it('200: says that no mail server is set', async () => {
    const settings = { ...OPERATOR_SETTINGS, AUTH_SMTP_HOST: '', AUTH_MAILER_AUTOCONFIRM: 'true' }
    const silent = await openBeside(test, settings)
    const shown = { ...health, mail: 'no server is set' }
    expect(await ask(silent)).toEqual([200, overview({ health: shown })])
    await silent.close()
  })
})
