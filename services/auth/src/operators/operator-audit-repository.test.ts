import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { operatorAuditStatement } from './operator-audit-repository.ts'

const database = await openTestDatabase()
afterAll(() => database.drop())

it('finds each action by an index, so that a search for an unused action reads no row of the log', async () => {
  const plans = await database.db.connection().execute(async (connection) => {
    // Without these settings the planner would not use the index, because the tables are small.
    await sql`SET enable_seqscan = off`.execute(connection)
    await sql`SET enable_sort = off`.execute(connection)
    const texts: string[] = []
    for (const action of ['users.delete', 'user_deleted', 'login']) {
      for (const direction of ['asc', 'desc'] as const) {
        const list = { user: undefined, action, direction, limit: 26, after: undefined }
        const { rows } = await sql<object>`EXPLAIN ${operatorAuditStatement(list)}`.execute(connection)
        texts.push(rows.flatMap(Object.values).join('\n'))
      }
    }
    await sql`RESET ALL`.execute(connection)
    return texts
  })
  const [byAction, byLogin] = ['audit_log_action_idx', 'audit_log_login_idx']
  expect(plans.map((plan) => new Set(plan.match(/audit_log_\w+_idx/g)))).toEqual([
    ...Array(4).fill(new Set([byAction])),
    ...Array(2).fill(new Set([byLogin, byAction])),
  ])
})
