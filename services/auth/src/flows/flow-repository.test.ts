import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { anyTime } from '../../test/bodies.ts'
import { insertUser } from '../users/user-change-repository.ts'
import {
  claimAuthorizationFlow,
  deleteFinishedFlows,
  deleteFlow,
  findFlowByCode,
  hashAuthCode,
  insertAuthorizationFlow,
  insertMailFlow,
  type NewAuthorizationFlow,
  updateFinishedFlow,
  updateMailFlow,
} from './flow-repository.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('app')
})
afterAll(() => database.drop())

type Queries = Parameters<typeof deleteFlow>[0]
const transact = <Result>(run: (trx: Queries) => Promise<Result>) => database.db.transaction().execute(run)

const AT = new Date('2026-01-02T03:04:05.678Z')
const AT_TEXT = '2026-01-02T03:04:05.678000+00:00'
const PKCE = { codeChallenge: 'c'.repeat(43), codeChallengeMethod: 's256' } as const
const encrypted = (data: string) => ({ key_id: 'a', alg: 'aes-gcm-hkdf', nonce: 'n', data }) as const
const newFlow = (members: Partial<NewAuthorizationFlow> = {}): NewAuthorizationFlow => ({
  id: randomUUID(),
  provider: 'github',
  redirectTo: 'https://app.example.com/home',
  pkce: PKCE,
  inviteTokenHash: Buffer.from('invitation'),
  linking: null,
  codeVerifier: encrypted('verifier'),
  requestToken: encrypted('request'),
  at: AT,
  ...members,
})

async function createUserId(): Promise<string> {
  return (await insertUser(database.db, { aud: 'authenticated', role: 'authenticated' })).id
}

/** Creates a finished flow at a provider, with an auth code. */
async function createFinished(code: string, members: Partial<NewAuthorizationFlow> = {}) {
  const flow = newFlow(members)
  const userId = flow.linking?.userId ?? (await createUserId())
  await insertAuthorizationFlow(database.db, flow)
  const end = {
    userId,
    codeHash: hashAuthCode(code),
    tokens: { access: encrypted('access'), refresh: null },
    credentialSince: null,
    linkedAccount: null,
    isSsoUser: false,
    at: AT,
  }
  expect(await transact((trx) => updateFinishedFlow(trx, flow.id, end))).toBe(true)
  return { id: flow.id, userId }
}

describe('claimAuthorizationFlow', () => {
  it('answers what was stored, with the time when the flow began', async () => {
    const { at, ...flow } = newFlow()
    await insertAuthorizationFlow(database.db, { ...flow, at })
    expect(await claimAuthorizationFlow(database.db, flow.id, AT)).toEqual({
      verdict: 'claimed',
      flow: { ...flow, startedAt: AT_TEXT },
    })
  })

  it('answers the account and the session that a linking flow belongs to', async () => {
    const linking = { userId: await createUserId(), sessionId: null, aal: 'aal2' } as const
    const { at, ...flow } = newFlow({ linking, inviteTokenHash: null, codeVerifier: null, requestToken: null })
    await insertAuthorizationFlow(database.db, { ...flow, at })
    expect(await claimAuthorizationFlow(database.db, flow.id, AT)).toEqual({
      verdict: 'claimed',
      flow: { ...flow, startedAt: AT_TEXT },
    })
  })

  it.each([
    ['keeps a PKCE flow for its exchange', PKCE, 'used', 1],
    ['deletes an implicit flow', undefined, 'unknown', 0],
  ] as const)('%s, and gives the flow to one of many concurrent requests', async (_, pkce, later, rows) => {
    const flow = newFlow({ pkce })
    await insertAuthorizationFlow(database.db, flow)
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimAuthorizationFlow(database.db, flow.id, AT)))
    const losers = claims.filter(({ verdict }) => verdict !== 'claimed')
    expect(losers).toEqual(Array(7).fill({ verdict: later }))
    const left = database.db.selectFrom('flow_state').select('id').where('id', '=', flow.id)
    expect(await left.execute()).toHaveLength(rows)
  })

  it('knows neither a flow that does not exist nor the flow of a mail', async () => {
    expect(await claimAuthorizationFlow(database.db, randomUUID(), AT)).toEqual({ verdict: 'unknown' })
    const userId = await createUserId()
    const id = await transact((trx) => insertMailFlow(trx, userId, 'recovery', PKCE))
    expect(await claimAuthorizationFlow(database.db, id, AT)).toEqual({ verdict: 'unknown' })
  })
})

describe('findFlowByCode', () => {
  it('answers the whole of a finished sign-in at a provider', async () => {
    const { id, userId } = await createFinished('a code')
    expect(await findFlowByCode(database.db, 'a code')).toEqual({
      id,
      codeHash: hashAuthCode('a code'),
      codeIssuedAt: AT_TEXT,
      userId,
      isOfSsoUser: false,
      provider: 'github',
      method: 'oauth',
      pkce: PKCE,
      credentialSince: null,
      linkingSessionId: null,
      providerTokens: { access: encrypted('access'), refresh: null },
      link: null,
      redirectTo: 'https://app.example.com/home',
    })
  })

  it('answers the flow of a mail once its auth code is issued', async () => {
    const userId = await createUserId()
    const id = await transact((trx) => insertMailFlow(trx, userId, 'email/signup', PKCE))
    expect(await findFlowByCode(database.db, 'of a mail')).toBeUndefined()
    expect(await transact((trx) => updateMailFlow(trx, id, { code: 'of a mail', now: AT }))).toBe(true)
    expect(await findFlowByCode(database.db, 'of a mail')).toEqual({
      id,
      codeHash: hashAuthCode('of a mail'),
      codeIssuedAt: AT_TEXT,
      userId,
      isOfSsoUser: false,
      provider: 'email',
      method: 'email/signup',
      pkce: PKCE,
      credentialSince: null,
      linkingSessionId: null,
      providerTokens: { access: null, refresh: null },
      link: null,
      redirectTo: '',
    })
  })

  it('stores the hash of the code alone, and no spent secret', async () => {
    const { id, userId } = await createFinished('a hashed code')
    expect(await database.db.selectFrom('flow_state').selectAll().where('id', '=', id).execute()).toEqual([
      {
        id,
        user_id: userId,
        provider_type: 'github',
        authentication_method: 'oauth',
        code_challenge: PKCE.codeChallenge,
        code_challenge_method: 's256',
        auth_code_hash: hashAuthCode('a hashed code'),
        auth_code_issued_at: AT_TEXT,
        credential_since: null,
        redirect_to: 'https://app.example.com/home',
        invite_token_hash: Buffer.from('invitation'),
        linking_target_id: null,
        linking_session_id: null,
        linking_aal: null,
        linked_account: null,
        is_sso_user: false,
        provider_pkce_verifier: null,
        oauth1_secret: null,
        provider_access_token: encrypted('access'),
        provider_refresh_token: null,
        email_optional: false,
        claimed_at: null,
        created_at: anyTime,
      },
    ])
  })

  it('answers nothing for an unknown code, and for the code of an implicit flow', async () => {
    expect(await findFlowByCode(database.db, 'unknown')).toBeUndefined()
    await createFinished('implicit', { pkce: undefined })
    expect(await findFlowByCode(database.db, 'implicit')).toBeUndefined()
  })
})

describe('a flow that has been cleaned up', () => {
  it('stores no auth code', async () => {
    const end = {
      userId: await createUserId(),
      codeHash: hashAuthCode('late'),
      tokens: { access: null, refresh: null },
      credentialSince: null,
      linkedAccount: null,
      isSsoUser: false,
      at: AT,
    }
    expect(await transact((trx) => updateFinishedFlow(trx, randomUUID(), end))).toBe(false)
    expect(await transact((trx) => updateMailFlow(trx, randomUUID(), { code: 'late', now: AT }))).toBe(false)
  })
})

describe('deleteFlow', () => {
  it('lets one of many concurrent requests delete a flow, with its newest code alone', async () => {
    const { id } = await createFinished('to be deleted')
    const remove = (code: string) => transact((trx) => deleteFlow(trx, { id, codeHash: hashAuthCode(code) }))
    expect(await remove('an older code')).toBe(false)
    const answers = await Promise.all(Array.from({ length: 4 }, () => remove('to be deleted')))
    expect(answers.filter(Boolean)).toEqual([true])
  })
})

describe('deleteFinishedFlows', () => {
  it('deletes the finished flows of one user, and no flow that waits for its provider', async () => {
    const { userId } = await createFinished('of the user')
    const { id: other } = await createFinished('of somebody else')
    const waiting = await transact((trx) => insertMailFlow(trx, userId, 'magiclink', PKCE))
    await transact((trx) => deleteFinishedFlows(trx, userId))
    expect(await findFlowByCode(database.db, 'of the user')).toBeUndefined()
    const left = database.db.selectFrom('flow_state').select('id').where('id', 'in', [other, waiting])
    expect((await left.execute()).map(({ id }) => id).sort()).toEqual([other, waiting].sort())
  })
})
