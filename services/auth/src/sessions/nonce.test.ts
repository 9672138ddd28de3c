import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { findNonceAddress } from './new-password.ts'
import { PASSWORD_METHOD_MS } from './session-repository.ts'

const test = await openTestApp()
afterAll(() => test.close())
const { db } = test.deps

describe('findNonceAddress', () => {
  it('takes an address that was changed from the moment on at which the change is a day old', async () => {
    const { user } = await createSignedUp(test.deps)
    const changed = new Date('2026-01-02T03:04:05.678Z')
    await db.insertInto('address_changes').values({ user_id: user.id, kind: 'email', changed_at: changed }).execute()
    const after = (ms: number) => {
      const now = () => new Date(changed.getTime() + ms)
      return findNonceAddress(
        db,
        { config: { security: { ...test.deps.config.security, reauthenticateForPassword: true } }, now },
        user,
      )
    }
    expect(await after(PASSWORD_METHOD_MS - 1)).toBeUndefined()
    expect(await after(PASSWORD_METHOD_MS)).toEqual({ kind: 'email', value: user.email })
  })
})
