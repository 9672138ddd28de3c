import { readFileSync } from 'node:fs'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { openTestApp } from './auth-app.ts'
import { OPERATOR } from './forged-token.ts'
import { createSignedUp } from './signed-up.ts'

const TABLE = 'auth.one_time_tokens'
const ATTEMPTS_MAX = 2
const [drawn] = diagramsOf(readFileSync(new URL('../src/one-time-tokens/README.md', import.meta.url), 'utf8'))
const isChange = (arrow: string): boolean => new Set(arrow.split(' --> ')).size === 2

it('a one-time token goes through the arrows of its diagram, and through no others', async () => {
  const test = await openTestApp({ settings: { AUTH_SECURITY_OTP_MAX_ATTEMPTS: String(ATTEMPTS_MAX) } })
  const now = test.clock.now().getTime()
  // Determines the state as in the README's table.
  const watched = await watchRows(test.database.directUrl, {
    [TABLE]: ({ row: { guesses, expires_at } }) => {
      if (Date.parse(String(expires_at)) <= now) return 'expired'
      return Number(guesses) < ATTEMPTS_MAX ? 'open' : 'linkOnly'
    },
  })
  const begin = async () => ({ ...(await createSignedUp(test.deps)), code: '000000', link: 'none' })
  type Recipient = Awaited<ReturnType<typeof begin>>
  const verify = ({ email }: Recipient, token: string) => test.post('/verify', { type: 'recovery', email, token })
  const events = {
    'a message': async (to: Recipient) => {
      const answer = await test.post('/admin/generate_link', { type: 'recovery', email: to.email }, OPERATOR)
      const { email_otp: code, hashed_token: link } = answer.json()
      Object.assign(to, { code, link })
    },
    'right code': (to: Recipient) => verify(to, to.code),
    'wrong code': (to: Recipient) => verify(to, to.code === '111111' ? '222222' : '111111'),
    'its link': ({ link }: Recipient) => test.post('/verify', { type: 'recovery', token_hash: link }),
    'its time passes': () => watched.change(TABLE, `SET expires_at = '${new Date(now).toISOString()}'`),
    'a day passes': () => watched.change(TABLE, `SET expires_at = expires_at - interval '1 day 1 hour'`),
    'clean-up': () => cleanUp({ ...test.deps, countRows: () => {}, places: new Map() }),
    withdrawn: ({ user }: Recipient) =>
      test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}`, headers: OPERATOR }),
  }
  const ways = [
    [],
    ['a message'],
    ['a message', 'wrong code', 'wrong code'],
    ['a message', 'its time passes'],
    ['a message', 'a day passes'],
  ]
  const found = await watched.explore(events, ways, begin)
  expect(found.get(TABLE)).toEqual([...(drawn?.arrows.keys() ?? [])].filter(isChange).sort())
  await watched.close()
  await test.close()
})
