import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { cleanUp } from '../../src/use-cases/clean-up.ts'
import { adopt, openAdopted, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

describe('clean-up on an adopted database', () => {
  it('keeps anonymous users of supabase/auth whatever their age, and removes those that this service has made', async () => {
    const restored = await restore('v2.196.0')
    await runSql(
      restored.database.superuserUrl,
      "DELETE FROM public.notes; UPDATE auth.users SET created_at = '2020-01-01' WHERE is_anonymous",
    )
    await adopt(restored)
    const { deps, user } = await openAdopted(restored, { AUTH_PROFILE: 'compatible' })
    const run = () => cleanUp({ ...deps, places: new Map(), countRows: () => {} })
    const listAnonymous = async () =>
      (await sql<{ id: string }>`SELECT id FROM auth.users WHERE is_anonymous`.execute(deps.db)).rows
    await sql`
      INSERT INTO auth.users (id, aud, role, is_anonymous, created_at)
      VALUES ('00000000-0000-4000-8000-00000000a70a', '', '', true, '2020-01-01')`.execute(deps.db)
    await run()
    expect(await listAnonymous()).toEqual([{ id: user('anonymous')?.id }])
    // Clean-up deletes them after an operator has allowed it.
    await sql`UPDATE auth.users SET keep_unconfirmed = false WHERE is_anonymous`.execute(deps.db)
    await run()
    expect(await listAnonymous()).toEqual([])
  })
})
