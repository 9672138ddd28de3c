import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { manageUsers } from './manage-users.ts'
import { openOperatorDeps } from './operator-deps.ts'

const test = await openTestApp()
const folder = mkdtempSync(join(tmpdir(), 'operator-deps-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await test.close()
})

it('writes audit events of commands to the log file where the database does not keep them', async () => {
  const { config } = test.deps
  const logFile = join(folder, 'auth.log')
  const deps = await openOperatorDeps({
    ...config,
    database: { ...config.database, auditInPostgres: false },
    server: { ...config.server, logFile },
  })
  const { user, email } = await createSignedUp(test.deps)
  const ban = manageUsers.find(({ usage }) => usage === 'ban <user>')
  await ban?.run(deps, { words: [email], options: { for: '1h' }, format: 'json' })
  await deps.close()
  expect(JSON.parse(readFileSync(logFile, 'utf8'))).toEqual({
    level: 'info',
    time: expect.any(String),
    component: 'command',
    msg: 'audit',
    auth_event: {
      actor_id: '00000000-0000-0000-0000-000000000000',
      actor_username: 'operator',
      actor_via_sso: false,
      action: 'user_modified',
      log_type: 'user',
      traits: { user_id: user.id, user_email: email, user_phone: '' },
      ip_address: '',
    },
  })
  expect(await test.deps.db.selectFrom('audit_log_entries').select('id').execute()).toEqual([])
})

it('refuses a database without the migrations', async () => {
  const { url, drop } = await createEmptyDatabase()
  onTestFinished(drop)
  const { config } = test.deps
  const wanted = { ...config, database: { ...config.database, url, role: undefined } }
  await expect(openOperatorDeps(wanted)).rejects.toHaveProperty('message', 'migrations are pending: run auth migrate')
})

it.each(['drop', 'refuse'] as const)('refuses a pooler that no setting names, as a start does: %s', async (does) => {
  const { config } = test.deps
  const pooler = await openStartupPooler(config.database.migrationUrl, does)
  onTestFinished(pooler.close)
  const wanted = { ...config, database: { ...config.database, url: pooler.url, prepared: true } }
  await expect(openOperatorDeps(wanted)).rejects.toThrow(
    new Error('the database is behind a pooler that keeps no settings of a session: set AUTH_DB_PREPARED=false'),
  )
})
