import { argon2i, hash as hashByReference } from 'argon2'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { sessionBody, signedUpBody } from '../../test/bodies.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { invalidCredentials } from '../errors.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { grantPassword } from './grant-password.ts'

const { deps, close } = await openTestApp({ settings: { AUTH_SECURITY_FAILED_ATTEMPTS: '2' } })
afterAll(close)

interface Guess {
  readonly email: string
  readonly password?: string
}

/** @param verify replaces the comparison */
const signIn = ({ email, password }: Guess, verify: PasswordHasher['verify'] = deps.passwords.verify) =>
  grantPassword(
    { ...deps, passwords: { ...deps.passwords, verify } },
    {
      email,
      phone: undefined,
      password,
      audience: 'authenticated',
      userAgent: null,
      ip: '192.0.2.1',
      failedAs: '192.0.2.1',
    },
  )

describe('grantPassword', () => {
  it('replaces an outdated hash', async () => {
    const old = await hashByReference('old password', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 })
    const signedUp = await createSignedUp(deps, { encrypted_password: old })
    const { email, user } = signedUp
    const session = sessionBody(signedUpBody(signedUp))
    expect(await signIn({ email, password: 'old password' })).toEqual(session)
    const row = await deps.db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirst()
    expect(row?.encrypted_password).toMatch(/^\$argon2id\$/)
    expect(await signIn({ email, password: 'old password' })).toEqual(session)
  })

  it('refuses a password that was changed while it was verified', async () => {
    const { user, ...signedUp } = await createSignedUp(deps)
    const other = await createSignedUp(deps)
    const encrypted_password = other.user.passwordHash
    const refused = signIn(signedUp, async (hash, password) => {
      const verified = await deps.passwords.verify(hash, password)
      await deps.db.updateTable('users').set({ encrypted_password }).where('id', '=', user.id).execute()
      return verified
    })
    await expect(refused).rejects.toThrow(invalidCredentials())
  })

  // ASVS 6.3.1
  it('refuses every wrong sign-in alike after one comparison', async () => {
    const known = await createSignedUp(deps)
    const cases = [
      { email: 'nobody@example.com', password: 'guess' },
      { email: known.email, password: 'guess' },
      { email: (await createSignedUp(deps, { encrypted_password: null })).email, password: 'guess' },
      { email: (await createSignedUp(deps, { staged_at: new Date() })).email, password: 'guess' },
      { email: (await createSignedUp(deps, { deleted_at: new Date() })).email, password: 'guess' },
      { email: 'no address at all', password: 'guess' },
      { email: 'nobody@example.com' },
      // Two failed checks reach the limit, so the correct password gets the answer of a wrong one.
      { email: known.email, password: 'guess' },
      { email: known.email, password: known.password },
    ]
    for (const guess of cases) {
      let comparisons = 0
      const refused = signIn(guess, (hash, password) => {
        comparisons += 1
        return deps.passwords.verify(hash, password)
      })
      await expect(refused).rejects.toThrow(invalidCredentials())
      expect(comparisons).toBe(1)
    }
  })

  // ASVS 6.3.1
  it('refuses the right one of many parallel guesses after the limit of failed checks', async () => {
    const { email, password } = await createSignedUp(deps)
    const { promise: failures, resolve: letGo } = Promise.withResolvers<void>()
    const right = signIn({ email, password }, async (hash, given) => {
      await failures
      return deps.passwords.verify(hash, given)
    })
    const guesses = ['guess 1', 'guess 2'].map((guess) => signIn({ email, password: guess }))
    const refused = { status: 'rejected', reason: invalidCredentials() }
    expect(await Promise.allSettled(guesses)).toEqual([refused, refused])
    letGo()
    await expect(right).rejects.toThrow(invalidCredentials())
  })
})
