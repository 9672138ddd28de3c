import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runSql } from '../../test/adoption/restored-database.ts'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { getOrCreateInvited, lockOrAddPendingSignUp } from '../sign-ups/insert-own-user.ts'
import { generateLink } from '../use-cases/generate-link.ts'

/** A service whose user inserts fail as if another request had just created each user and deleted it again. */
let raced: TestApp
beforeAll(async () => {
  raced = await openTestApp()
  const { schema, prefix } = raced.deps.names
  await runSql(
    raced.database.url,
    `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER lose BEFORE INSERT ON ${schema}.${prefix}users FOR EACH ROW EXECUTE FUNCTION lose()`,
  )
})
afterAll(() => raced.close())

const email = 'new@example.com'
const identifier = { kind: 'email', value: email } as const
const link = { email, newEmail: '', password: undefined, data: {}, admin: SERVICE, context: CONTEXT }

/** Requests the user of a code, with another value of `createUserOnCodeRequest`. */
function addPending(changes: Pick<CompatibilityOptions, 'createUserOnCodeRequest'>) {
  const { deps } = raced
  const compatibility = { ...deps.config.compatibility, ...changes }
  const changed = { ...deps, config: { ...deps.config, compatibility } }
  const wanted = { identifier, audience: 'authenticated', stage: { data: {} } }
  return deps.db.transaction().execute((trx) => lockOrAddPendingSignUp(trx, changed, wanted))
}

describe('a user whom another request makes and deletes each time', () => {
  it.each([
    ['a magic link of an admin', () => generateLink(raced.deps, { ...link, type: 'magiclink' })],
    ['a link of an invitation', () => generateLink(raced.deps, { ...link, type: 'invite' })],
    [
      'an invitation',
      () =>
        raced.deps.db
          .transaction()
          .execute((trx) => getOrCreateInvited(trx, raced.deps, { email, data: {}, context: CONTEXT })),
    ],
    ['a code that adds a pending sign-up', () => addPending({ createUserOnCodeRequest: false })],
    ['a code that signs a user up', () => addPending({ createUserOnCodeRequest: true })],
  ])('ends %s with an error after five attempts', async (_request, run) => {
    await expect(run()).rejects.toThrow('a user is made and deleted again and again')
  })
})
