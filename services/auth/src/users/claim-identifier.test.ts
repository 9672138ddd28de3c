import { randomUUID } from 'node:crypto'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { answerBehind } from '../../test/answer-behind.ts'
import { openTestDatabase } from '../../test/auth-database.ts'
import { addReachable, newReach } from '../../test/reachable-user.ts'
import { emailExists, phoneExists, phoneExistsForAdmin } from '../errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import {
  claimAccountEmail,
  claimIdentifier,
  getOrCreate,
  type RefuseTaken,
  refuseTaken,
  refuseTakenForAdmin,
  requireNewIdentifier,
  requireOwnerAudience,
  requireUnconfirmed,
  StaleView,
  withUniqueAccount,
  withUniqueIdentifiers,
} from './claim-identifier.ts'
import { insertUser } from './user-change-repository.ts'
import { findUserById } from './user-repository.ts'

const database = await openTestDatabase()
const { db, names } = database
afterAll(() => database.drop())

const at = '2026-01-02T03:04:05.678000+00:00'
let byEmail: UserIdentifier
let byPhone: UserIdentifier
beforeEach(() => {
  const reach = newReach()
  byEmail = reach.byEmail
  byPhone = reach.byPhone
})

const add = (changes: Parameters<typeof addReachable>[2] = {}) => addReachable(db, { byEmail, byPhone }, changes)
const claim = (identifier: UserIdentifier, refuse: RefuseTaken, userId: string | undefined = undefined) =>
  db.transaction().execute((trx) => claimIdentifier(trx, identifier, { userId, refuse }))

describe('getOrCreate', () => {
  it('returns what the second attempt finds when another request wins the first attempt', async () => {
    const outcomes = ['taken', 'a user'] as const
    let attempts = 0
    expect([await getOrCreate(async () => outcomes[attempts++] ?? 'another user'), attempts]).toEqual(['a user', 2])
  })

  it('returns undefined at once when an attempt decides that there is no user', async () => {
    let attempts = 0
    const found = await getOrCreate(async () => {
      attempts += 1
      return undefined
    })
    expect([found, attempts]).toEqual([undefined, 1])
  })

  it('gives up when other requests win five attempts', async () => {
    let attempts = 0
    const lose = async () => {
      attempts += 1
      return 'taken' as const
    }
    await expect(getOrCreate(lose)).rejects.toThrow('a user is made and deleted again and again')
    expect(attempts).toBe(5)
  })
})

describe('an identifier that is claimed', () => {
  it('is refused to everybody but its user, by the error of the kind and of the caller', async () => {
    const { id } = await add()
    await expect(claim(byEmail, refuseTaken)).rejects.toEqual(emailExists())
    await expect(claim(byPhone, refuseTaken)).rejects.toEqual(phoneExists())
    await expect(claim(byPhone, refuseTakenForAdmin)).rejects.toEqual(phoneExistsForAdmin())
    await claim(byEmail, refuseTaken, id)
  })

  it('is taken from a pending sign-up, who is deleted', async () => {
    const { id } = await add({ staged_at: at })
    await claim(byEmail, refuseTaken)
    expect(await findUserById(db, id)).toBeUndefined()
  })

  it.each([
    ['is taken', () => claim(byEmail, refuseTaken), emailExists()],
    [
      'is looked at again in a race',
      () => db.transaction().execute((trx) => claimAccountEmail(trx, byEmail.value, randomUUID())),
      new StaleView(),
    ],
  ])('%s when its pending sign-up becomes a user meanwhile', async (_case, claiming, error) => {
    const { id } = await add({ staged_at: at })
    const refused = answerBehind(
      db,
      (trx) => trx.updateTable('users').set({ staged_at: null }).where('id', '=', id).execute(),
      () => claiming().catch((caught: unknown) => caught),
    )
    expect(await refused).toEqual(error)
    expect((await findUserById(db, id))?.pendingSince).toBeNull()
  })
})

describe('requireNewIdentifier', () => {
  it('refuses what the user or another user has, and permits what a pending sign-up has', async () => {
    const user = await add({ phone_confirmed_at: at })
    const free = newReach().byEmail
    await expect(requireNewIdentifier(db, user, byEmail)).rejects.toEqual(emailExists())
    await requireNewIdentifier(db, user, free)
    const other = await add({ email: free.value, phone: null, staged_at: at })
    await requireNewIdentifier(db, user, free)
    await expect(requireNewIdentifier(db, other, byPhone)).rejects.toEqual(phoneExists())
  })
})

describe('requireUnconfirmed', () => {
  it('permits an unconfirmed user of the audience', () => {
    expect(requireUnconfirmed({ emailConfirmedAt: null, audience: 'here' }, 'here')).toBeUndefined()
  })

  it.each([
    ['a confirmed user', at, 'here'],
    ['a user of another audience', null, 'elsewhere'],
  ])('refuses %s', (_case, emailConfirmedAt, audience) => {
    expect(() => requireUnconfirmed({ emailConfirmedAt, audience }, 'here')).toThrow(emailExists())
  })
})

describe('requireOwnerAudience', () => {
  it('refuses the email of a user of another audience', () => {
    expect(requireOwnerAudience({ audience: 'here' }, 'here')).toBeUndefined()
    expect(() => requireOwnerAudience({ audience: 'elsewhere' }, 'here')).toThrow(emailExists())
  })
})

describe('withUniqueIdentifiers', () => {
  it('runs once more after a violation, and then answers the error of the identifier', async () => {
    await add()
    let attempts = 0
    const insert = withUniqueIdentifiers({ db, names }, refuseTakenForAdmin, async (trx) => {
      attempts += 1
      const email = attempts === 1 ? byEmail.value : null
      return insertUser(trx, { aud: 'authenticated', role: 'authenticated', email, phone: byPhone.value })
    })
    await expect(insert).rejects.toEqual(phoneExistsForAdmin())
    expect(attempts).toBe(2)
  })

  it('runs once when anything else fails', async () => {
    let attempts = 0
    const failing = withUniqueIdentifiers({ db, names }, refuseTaken, async () => {
      attempts += 1
      throw new Error('away')
    })
    await expect(failing).rejects.toEqual(new Error('away'))
    expect(attempts).toBe(1)
  })
})

describe('withUniqueAccount', () => {
  it('runs again after a stale view, at most ten times', async () => {
    let attempts = 0
    const run = (failures: number) =>
      withUniqueAccount({ db, names }, async () => {
        attempts += 1
        if (attempts <= failures) throw new StaleView()
        return attempts
      })
    expect(await run(9)).toBe(10)
    attempts = 0
    await expect(run(10)).rejects.toEqual(new StaleView())
    expect(attempts).toBe(10)
  })
})
