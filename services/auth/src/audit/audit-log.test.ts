import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestApp } from '../../test/auth-app.ts'
import { anyTime } from '../../test/bodies.ts'
import { SERVICE } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { NIL_UUID } from '../records/ids.ts'
import { type AuditEvent, recordAudit } from './audit-log.ts'

const { deps, close } = await openTestApp()
afterAll(close)

const { user } = await createSignedUp(deps)
const named = (full_name: unknown) => ({ ...user, userMetadata: { full_name } })

/** Records an event in a transaction that is rolled back. Returns its row, or `undefined`. */
async function record(event: Partial<AuditEvent>, own: Parameters<typeof recordAudit>[1] = deps) {
  const trx = await deps.db.startTransaction().execute()
  try {
    await recordAudit(trx, own, { action: 'login', actor: user, ip: '192.0.2.1', ...event })
    return await trx.selectFrom('audit_log_entries').selectAll().executeTakeFirst()
  } finally {
    await trx.rollback().execute()
  }
}

const Entry = z.object({ payload: z.object({ actor_name: z.string().optional() }) })

describe('recordAudit', () => {
  it('records who did what to whom, and the group of the action', async () => {
    const traits = { user_id: user.id }
    expect(await record({ action: 'user_modified', actor: SERVICE.actor, target: user, traits })).toEqual({
      id: expect.any(String),
      created_at: anyTime,
      actor_id: null,
      target_user_id: user.id,
      session_id: null,
      action: 'user_modified',
      log_type: 'user',
      ip_address: '192.0.2.1',
      payload: {
        actor_id: NIL_UUID,
        actor_username: 'service_role',
        actor_via_sso: false,
        action: 'user_modified',
        log_type: 'user',
        traits,
      },
    })
  })

  it.each([
    ['a name', 'Ann', 'Ann'],
    ['a long name', 'n'.repeat(200), 'n'.repeat(120)],
    ['a name that would be cut within a character', `${'n'.repeat(119)}😀`, `${'n'.repeat(119)}\uFFFD`],
    ['an empty name', '', undefined],
    ['a name that is no text', { first: 'Ann' }, undefined],
  ])('keeps of the actor %s', async (_case, name, expected) => {
    const { payload } = Entry.parse(await record({ actor: named(name) }))
    expect(payload.actor_name).toBe(expected)
  })

  it('writes to the log alone where AUDIT_LOG_DISABLE_POSTGRES is set', async () => {
    const lines: unknown[] = []
    const logger = Object.assign(Object.create(deps.logger), { info: (line: unknown) => lines.push(line) })
    const config = { ...deps.config, database: { ...deps.config.database, auditInPostgres: false } }
    expect(await record({}, { ...deps, logger, config })).toBeUndefined()
    expect(lines).toEqual([
      {
        auth_event: {
          actor_id: user.id,
          actor_username: user.email,
          actor_via_sso: false,
          action: 'login',
          log_type: 'account',
          ip_address: '192.0.2.1',
        },
      },
    ])
  })
})
