import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deriveUpstreamTokens } from '../../src/sessions/session.ts'
import { type AdoptedApp, adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

/** The state of a token at the old server. */
const STATES = ['live', 'just spent', 'spent long ago'] as const
type State = (typeof STATES)[number]
const SPENT = STATES.slice(1)
const RECENT = STATES.slice(0, -1)
/**
 * The age of each state in minutes. `just spent` is in the future, so that the reuse interval of 10 s never ends during a test.
 */
const MINUTES: Readonly<Record<State, number>> = { live: 0, 'just spent': -30, 'spent long ago': 50 }

/** A token that the old server stores as a row. `parent` is the index of its parent in the chain. */
interface OldToken {
  readonly state: State
  readonly parent?: number
}

/** The tokens of a session at the old server: stored tokens, and with `counter` also derived tokens. */
interface OldChain {
  readonly tokens: readonly OldToken[]
  readonly counter?: number
}

/** Chains of three tokens with a spent first token. The third is a child of the first or the second. */
const FIRST_FORM: readonly OldChain[] = SPENT.flatMap((first) =>
  RECENT.flatMap((second) =>
    STATES.flatMap((third) =>
      [0, 1].map((parent) => ({ tokens: [{ state: first }, { state: second, parent: 0 }, { state: third, parent }] })),
    ),
  ),
)

/** Sessions that have changed to derived tokens. Their last stored token is live or spent. */
const BOTH_FORMS: readonly OldChain[] = SPENT.flatMap((first) =>
  RECENT.map((second) => ({ tokens: [{ state: first }, { state: second, parent: 0 }], counter: 2 })),
)

/** A session, and two of its tokens that a client sends one after the other. */
interface Case {
  readonly chain: OldChain
  readonly sent: readonly [number, number]
  readonly id: string
  readonly hmacKey: string | undefined
  readonly tokens: readonly string[]
}

/** Combines each chain with each pair of its tokens. */
function listCases({ deps }: Restored): readonly Case[] {
  return [...FIRST_FORM, ...BOTH_FORMS].flatMap((chain) => {
    const places = [...Array(chain.tokens.length + (chain.counter === undefined ? 0 : chain.counter + 1)).keys()]
    return places.flatMap((first) =>
      places.map((second) => {
        const id = randomUUID()
        const own = chain.tokens.map((_token, place) => `${id}-${place}`)
        const { counter } = chain
        const sent = [first, second] as const
        if (counter === undefined) return { chain, sent, id, hmacKey: undefined, tokens: own }
        const hmacKey = randomBytes(32).toString('base64url')
        const derived = Array.from({ length: counter + 1 }, (_item, at) => {
          return deriveUpstreamTokens(deps.encryptionKeys, { id, hmacKey, counter: BigInt(at) })?.current ?? ''
        })
        return { chain, sent, id, hmacKey, tokens: [...own, ...derived] }
      }),
    )
  })
}

/** Inserts sessions like the old server, each with its own user. The user has the id of the session. */
async function insertSessions({ database: { superuserUrl } }: Restored, cases: readonly Case[]): Promise<void> {
  const sessions = cases.map(({ id, hmacKey, chain: { counter, tokens } }) => {
    return { id, hmacKey, counter, minutes: MINUTES[tokens[0]?.state ?? 'live'] }
  })
  const tokens = cases.flatMap(({ id, chain, tokens: texts }) =>
    chain.tokens.map(({ state, parent }, place) => ({
      id,
      token: texts[place],
      parent: parent === undefined ? undefined : texts[parent],
      revoked: state !== 'live',
      minutes: MINUTES[state],
    })),
  )
  await runSql(
    superuserUrl,
    `CREATE TEMPORARY TABLE wanted AS SELECT * FROM jsonb_to_recordset('${JSON.stringify(sessions)}')
       AS s (id uuid, "hmacKey" text, counter bigint, minutes int);
     INSERT INTO auth.users (instance_id, id, aud, role) SELECT '00000000-0000-0000-0000-000000000000', id,
       'authenticated', 'authenticated' FROM wanted;
     INSERT INTO auth.sessions (id, user_id, created_at, updated_at, aal, refresh_token_hmac_key, refresh_token_counter, refreshed_at)
       SELECT id, id, now(), now(), 'aal1', "hmacKey", counter, now() AT TIME ZONE 'UTC' - make_interval(mins => minutes) FROM wanted;
     INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, parent, session_id, created_at, updated_at)
       SELECT NULL, token, id, revoked, parent, id, now() - interval '50 min', now() - make_interval(mins => minutes)
       FROM ROWS FROM (jsonb_to_recordset('${JSON.stringify(tokens)}')
         AS (id uuid, token text, parent text, revoked boolean, minutes int)) WITH ORDINALITY t ORDER BY t.ordinality`,
  )
}

/** The number of concurrent requests. */
const AT_ONCE = 50

/** Refreshes by each token and then by its new token. @returns the statuses, in the same order */
async function refreshAll({ post }: AdoptedApp, tokens: readonly string[]): Promise<readonly string[]> {
  const statuses: string[] = []
  const refresh = async (refresh_token: string | undefined) => {
    const { statusCode, json } = await post('/token?grant_type=refresh_token', { refresh_token })
    return { status: statusCode, token: String(json().refresh_token) }
  }
  for (let from = 0; from < tokens.length; from += AT_ONCE) {
    const some = tokens.slice(from, from + AT_ONCE).map(async (sent) => {
      const { status, token } = await refresh(sent)
      return status === 200 ? `${status}, then ${(await refresh(token)).status}` : String(status)
    })
    statuses.push(...(await Promise.all(some)))
  }
  return statuses
}

const STRICT = {
  AUTH_SECURITY_FAILED_ATTEMPTS: '10',
  AUTH_MAILER_AUTOCONFIRM: 'false',
  AUTH_SMS_AUTOCONFIRM: 'false',
}
const PROFILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  compatible: {},
  strict: STRICT,
  supabase: {},
}

describe('chains of refresh tokens that an adoption has copied', () => {
  const drops: (() => Promise<void>)[] = []
  afterAll(() => Promise.all(drops.map((drop) => drop())))
  let restored: Restored
  const cases = new Map<string, readonly Case[]>()
  beforeAll(async () => {
    restored = await restore('v2.196.0', (drop) => drops.push(drop))
    for (const profile of Object.keys(PROFILES)) cases.set(profile, listCases(restored))
    await insertSessions(restored, [...cases.values()].flat())
    await adopt(restored)
  })

  it.each(Object.keys(PROFILES))(
    'make no refresh fail in the profile %s, and each token that a refresh returns refreshes too',
    async (profile) => {
      const app = await openAdopted(restored, {
        AUTH_PROFILE: profile,
        AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
        AUTH_RATE_LIMIT_TOKEN_REFRESH: '1000000',
        AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10s',
        ...PROFILES[profile],
      })
      const own = cases.get(profile) ?? []
      const first = await refreshAll(
        app,
        own.map(({ tokens, sent: [place] }) => tokens[place] ?? ''),
      )
      const second = await refreshAll(
        app,
        own.map(({ tokens, sent: [, place] }) => tokens[place] ?? ''),
      )
      const isGood = (status = '') => status === '400' || status === '200, then 200'
      const bad = own.flatMap(({ chain, sent }, at) =>
        isGood(first[at]) && isGood(second[at]) ? [] : [{ chain, sent, first: first[at], second: second[at] }],
      )
      expect(bad).toEqual([])
      expect(new Set([...first, ...second])).toEqual(new Set(['400', '200, then 200']))
    },
  )
})
