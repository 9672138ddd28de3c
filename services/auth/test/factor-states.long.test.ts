import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { authNames } from '../src/migrations.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { openTestApp } from './auth-app.ts'
import { challenge, enrolApp } from './authenticator-app.ts'
import { OPERATOR } from './forged-token.ts'
import { openRecoveryCodesApp } from './recovery-codes-app.ts'
import { createSignedIn } from './signed-in.ts'

const MINUTE_MS = 60_000
const drawn = diagramsOf(readFileSync(new URL('../src/factors/README.md', import.meta.url), 'utf8'))
const arrowsOf = (diagram: number): readonly string[] =>
  [...(drawn[diagram]?.arrows.keys() ?? [])].filter((arrow) => new Set(arrow.split(' --> ')).size === 2).sort()

it('a challenge of a factor goes through the arrows of its diagram, and through no others', async () => {
  const table = 'auth.mfa_challenges'
  const test = await openTestApp({ settings: { AUTH_SECURITY_OTP_MAX_ATTEMPTS: '2' } })
  const now = test.clock.now().getTime()
  const watched = await watchRows(test.database.directUrl, {
    [table]: ({ row: { verified_at, created_at } }) => {
      if (verified_at !== null) return 'answered'
      return Date.parse(String(created_at)) <= now - 5 * MINUTE_MS ? 'expired' : 'open'
    },
  })
  const begin = async () => {
    const signedIn = await createSignedIn(test)
    return { ...signedIn, app: await enrolApp(test, signedIn.headers), challengeId: randomUUID() as string }
  }
  type Owner = Awaited<ReturnType<typeof begin>>
  const answer = ({ headers, app, challengeId }: Owner, code: string) =>
    test.post(`/factors/${app.factorId}/verify`, { challenge_id: challengeId, code }, headers)
  const events = {
    'a challenge is asked for': async (owner: Owner) => {
      Object.assign(owner, { challengeId: await challenge(test, owner.headers, owner.app.factorId) })
    },
    'right answer': (owner: Owner) => answer(owner, owner.app.code()),
    'wrong answer': (owner: Owner) => answer(owner, owner.app.code() === '111111' ? '222222' : '111111'),
    'its time is over': () =>
      watched.change(table, `SET created_at = '${new Date(now - 5 * MINUTE_MS).toISOString()}'`),
    'three days pass': () => watched.change(table, `SET created_at = created_at - interval '3 days'`),
    'clean-up': () => cleanUp({ ...test.deps, countRows: () => {}, places: new Map() }),
    'its factor is unenrolled': ({ user, app }: Owner) =>
      test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}/factors/${app.factorId}`, headers: OPERATOR }),
  }
  const asked = ['a challenge is asked for']
  const ways = [
    ...[
      [],
      asked,
      [...asked, 'wrong answer'],
      [...asked, 'right answer'],
      [...asked, 'right answer', 'three days pass'],
    ],
    ...[
      [...asked, 'its time is over'],
      [...asked, 'three days pass'],
    ],
  ]
  const found = await watched.explore(events, ways, begin)
  expect(found.get(table)).toEqual(arrowsOf(1))
  await watched.close()
  await test.close()
})

it('recovery codes go through the arrows of their diagram, and through no others', async () => {
  const test = await openRecoveryCodesApp()
  const table = `auth.${authNames(test.deps.config).prefix}mfa_recovery_sets`
  const watched = await watchRows(test.database.directUrl, {
    [table]: ({ row: { guesses, failing_since } }) => {
      const isFailing = Date.parse(String(failing_since)) > test.clock.now().getTime() - 15 * MINUTE_MS
      return isFailing && Number(guesses) >= 5 ? 'locked' : 'usable'
    },
  })
  const begin = async () => ({ ...(await test.createWithApp()), codes: [] as readonly string[] })
  type Owner = Awaited<ReturnType<typeof begin>>
  const keep = async (owner: Owner, made: ReturnType<typeof test.generate>) => {
    const { codes = owner.codes } = (await made).json()
    Object.assign(owner, { codes })
  }
  const events = {
    made: (owner: Owner) => keep(owner, test.generate(owner.headers)),
    replaced: (owner: Owner) => keep(owner, test.regenerate(owner.headers)),
    'right code': ({ later, codes }: Owner) => test.verify(later.headers, codes[0]),
    'wrong code': ({ later }: Owner) => test.verify(later.headers, 'AAAAA-AAAAA'),
    'the 15 minutes are over': () => watched.change(table, `SET failing_since = failing_since - interval '15 minutes'`),
    unenrolled: ({ headers }: Owner) => test.remove(headers),
    'the last other factor is unenrolled': ({ user, app }: Owner) =>
      test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}/factors/${app.factorId}`, headers: OPERATOR }),
  }
  const locked = ['made', ...Array<string>(5).fill('wrong code')]
  const found = await watched.explore(events, [[], ['made'], locked.slice(0, -1), locked], begin)
  expect(found.get(table)).toEqual(arrowsOf(2))
  await watched.close()
  await test.close()
})
