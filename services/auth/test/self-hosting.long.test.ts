import { AuthApiError, AuthClient } from '@supabase/auth-js'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { dataOf } from './auth-js/client-service.ts'
import { runAuthWith } from './run-auth.ts'
import { SELF_HOSTING } from './self-hosting.ts'

const [OWNER, PASSWORD] = ['self_hosting_owner', 'self_hosting']

const database = await createEmptyDatabase()
const superuser = new pg.Client({ connectionString: database.directUrl })
beforeAll(async () => {
  await superuser.connect()
  await superuser.query(`
    DROP ROLE IF EXISTS ${OWNER};
    CREATE ROLE ${OWNER} LOGIN NOINHERIT CREATEROLE PASSWORD '${PASSWORD}';
    GRANT CREATE ON DATABASE ${superuser.database} TO ${OWNER};
    CREATE SCHEMA auth AUTHORIZATION ${OWNER}`)
})
afterAll(async () => {
  await superuser.query(`DROP OWNED BY ${OWNER} CASCADE; DROP ROLE ${OWNER}`)
  await superuser.end()
  await database.drop()
})

/** Starts the service with the environment of the self-hosting files. Only addresses differ. */
async function start(): Promise<string> {
  const url = Object.assign(new URL(database.directUrl), { username: OWNER, password: PASSWORD })
  const service = runAuthWith(['serve'], {
    ...SELF_HOSTING,
    GOTRUE_API_HOST: '127.0.0.1',
    GOTRUE_API_PORT: '0',
    GOTRUE_DB_DATABASE_URL: url.href,
  })
  onTestFinished(async () => {
    service.kill()
    await service.exited
  })
  const listening = /"address":"(http:[^"]+)"/
  await service.waitForOutput(listening)
  return listening.exec(service.stdout())?.[1] ?? ''
}

describe('the environment of the self-hosting files of Supabase', () => {
  it('starts the service on a new database, and a client signs up, refreshes, signs in again and signs out', async () => {
    const url = await start()
    expect(await (await fetch(`${url}/health`)).json()).toEqual({
      version: expect.stringMatching(/^v2\.\d+\.\d+$/),
      name: 'GoTrue',
      description: 'GoTrue is a user registration and authentication API',
    })
    const client = new AuthClient({ url: `${url}/auth/v1`, autoRefreshToken: false, persistSession: false })
    const credentials = { phone: '14155550100', password: 'correct horse' }
    const { user, session } = dataOf(await client.signUp(credentials))
    const refreshed = dataOf(await client.refreshSession())
    expect(refreshed.session?.refresh_token).not.toBe(session?.refresh_token)
    expect(dataOf(await client.getUser()).user.id).toBe(user?.id)
    dataOf(await client.signInWithPassword(credentials))
    expect((await client.signOut()).error).toBeNull()
    expect((await client.refreshSession(session ?? undefined)).error).toEqual(
      new AuthApiError('Invalid Refresh Token: Refresh Token Not Found', 400, 'refresh_token_not_found'),
    )
  })
})
