import { bodies, getUser, type RequestStep, type Subject, signIn, signUp } from '../step.ts'

/** Exchanges a refresh token that was kept under a name. */
function refresh(from: string, keep: string, note = ''): RequestStep {
  const body = { refresh_token: `{${from}.refresh_token}` }
  return { name: `refresh ${from}${note && ` ${note}`}`, send: 'POST /token?grant_type=refresh_token', body, keep }
}

const WITHIN_MS = 300
const BEYOND_MS = 2_200

/** Families of refresh tokens, with a reuse interval of a second. */
export const refreshTokens: Subject = {
  name: 'refresh tokens',
  steps: [
    signUp('ada'),
    refresh('ada', 'child'),
    getUser('child'),
    refresh('ada', 'second', 'again, the direct parent'),
    refresh('child', 'grandchild'),
    refresh('ada', 'third', 'again within the interval, a grandparent'),
    refresh('grandchild', 'youngest'),
    { pauseMs: BEYOND_MS },
    refresh('grandchild', 'again', 'the direct parent, after the interval'),
    refresh('again', 'after', 'what it got'),
    { pauseMs: BEYOND_MS },
    refresh('ada', 'stolen', 'an old ancestor, after the interval'),
    refresh('after', 'ended', 'the newest, after the theft'),
    getUser('after', 'after the theft'),
    ...bodies('POST /token?grant_type=refresh_token', {
      'an unknown token': { refresh_token: 'abcdefghijkl' },
      'an empty token': { refresh_token: '' },
      'a long token': { refresh_token: 'x'.repeat(500) },
      'a number': { refresh_token: 5 },
      null: { refresh_token: null },
      nothing: {},
      'a text': 'text',
    }),
    signIn('ada', 'one'),
    { ...refresh('one', 'x', 'four at once'), times: 4 },
    signIn('ada', 'two'),
    { name: 'sign out', send: 'POST /logout', as: 'two' },
    refresh('two', 'x', 'after the sign-out'),
    signIn('ada', 'three'),
    { name: 'a ban', send: 'PUT /admin/users/{three.user.id}', as: 'admin', body: { ban_duration: '1h' } },
    refresh('three', 'x', 'of a banned user'),
    getUser('three', 'who is banned'),
    { name: 'no ban', send: 'PUT /admin/users/{three.user.id}', as: 'admin', body: { ban_duration: 'none' } },
    refresh('three', 'four', 'after the ban'),
    { name: 'deleted', send: 'DELETE /admin/users/{three.user.id}', as: 'admin' },
    refresh('four', 'x', 'of a deleted user'),
    getUser('four', 'who is deleted'),
    signUp('bert'),
    refresh('bert', 'b1'),
    { pauseMs: WITHIN_MS },
    refresh('bert', 'b2', 'within the interval'),
    refresh('b1', 'b3'),
    refresh('b2', 'b4', 'the second child'),
    refresh('b3', 'b5'),
    refresh('b4', 'b6'),
    { pauseMs: BEYOND_MS },
    refresh('b1', 'b7', 'a spent token, after the interval'),
    refresh('b5', 'b8'),
    refresh('b6', 'b9'),
  ],
}

/** Refreshes with an interval of reuse of 0, which is the default of the old server. */
export const noReuse: Subject = {
  name: 'no reuse interval',
  steps: [
    signUp('ada'),
    refresh('ada', 'child'),
    refresh('ada', 'again', 'the direct parent'),
    refresh('child', 'grandchild'),
    refresh('ada', 'stolen', 'a grandparent'),
    refresh('grandchild', 'x', 'the newest, after the theft'),
    refresh('child', 'x', 'a spent token, after the theft'),
    getUser('grandchild', 'after the theft'),
    { name: 'sign out', send: 'POST /logout', as: 'grandchild' },
  ],
}
