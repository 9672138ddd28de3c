import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../test/auth-app.ts'
import { createSignedUp } from '../test/signed-up.ts'
import { vocabulary } from './error-vocabulary.ts'
import { lockUserById } from './users/user-repository.ts'

const { deps, close } = await openTestApp()
afterAll(close)

describe('vocabulary', () => {
  it('503: a lock that was not had in time', async () => {
    const { user } = await createSignedUp(deps)
    const error = await deps.db.transaction().execute(async (holder) => {
      await lockUserById(holder, user.id)
      return deps.db
        .transaction()
        .execute(async (trx) => {
          await sql`SET LOCAL lock_timeout = '1ms'`.execute(trx)
          await lockUserById(trx, user.id)
        })
        .catch((thrown: unknown) => thrown)
    })
    expect(error).toMatchObject({ code: '55P03' })
    expect(vocabulary.isUnavailable(error)).toBe(true)
    expect(vocabulary.unavailable(error)).toMatchObject({ status: 503, code: 'service_unavailable' })
  })
})
