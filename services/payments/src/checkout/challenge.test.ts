import { expect, it } from 'vitest'
import type { Step } from './authentication.ts'
import { type Challenge, challengesOf } from './challenge.ts'

const FRAME = { name: 'tds-challenge', type: 'iframe', path: '/payments/challenges/tds-challenge' } as const
const REDIRECT = {
  name: 'tds-challenge',
  type: 'redirect',
  path: '/payments/challenges/tds-challenge/redirect',
} as const
const POLL = { name: 'tds-challenge', type: 'poll', path: '/payments/challenges/tds-challenge/poll' } as const

it.each<[string, { readonly polls: boolean; readonly canReturn: boolean }, readonly Challenge[]]>([
  ['without a page to return to, no redirect', { polls: false, canReturn: false }, [FRAME, POLL]],
  ['out of band without a page to return to, polling first', { polls: true, canReturn: false }, [POLL, FRAME]],
  ['with a page to return to, the frame first', { polls: false, canReturn: true }, [FRAME, REDIRECT, POLL]],
  ['out of band with a page to return to, polling first', { polls: true, canReturn: true }, [POLL, FRAME, REDIRECT]],
])('offers a challenge %s', (_, how, ways) => {
  expect(challengesOf('tds-challenge', how)).toEqual(ways)
})

it.each<[Step, Challenge['type']]>([
  ['card-lookup', 'fetch'],
  ['device-fingerprint', 'background-iframe'],
  ['tds-fingerprint', 'background-iframe'],
])('offers %s one way only: %s', (name, type) => {
  const offered = [{ name, type, path: `/payments/challenges/${name}` }]
  for (const polls of [false, true]) {
    for (const canReturn of [false, true]) expect(challengesOf(name, { polls, canReturn })).toEqual(offered)
  }
})
