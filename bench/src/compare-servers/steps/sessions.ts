import { bodies, getUser, PASSWORD, type RequestStep, type Subject, sends, signIn, signUp } from '../step.ts'

const signOut = (name: string, query = ''): RequestStep => ({
  name: `sign out ${name}${query}`,
  send: `POST /logout${query}`,
  as: name,
})

export const sessions: Subject = {
  name: 'sign-outs',
  steps: [
    signUp('ada'),
    signIn('ada', 'phone'),
    signIn('ada', 'tablet'),
    signOut('phone', '?scope=nothing'),
    signOut('phone', '?scope=local'),
    getUser('phone', 'after local'),
    getUser('tablet', 'of another session'),
    signOut('phone'),
    signOut('tablet', '?scope=others'),
    getUser('tablet', 'which is left'),
    getUser('ada', 'one of the others'),
    signIn('ada', 'phone'),
    signOut('tablet', '?scope=global'),
    getUser('phone', 'after global'),
    getUser('tablet', 'after global'),
    signIn('ada', 'phone'),
    signOut('phone'),
    getUser('phone', 'after the default'),
    ...bodies(
      'PUT /user',
      { 'data after sign-out': { data: { a: 1 } }, 'a password after sign-out': { password: 'another one' } },
      { as: 'phone' },
    ),
    ...sends(['GET /reauthenticate', 'GET /user/identities/authorize?provider=keycloak'], { as: 'phone' }),
    { name: 'DELETE /user/identities after sign-out', send: `DELETE /user/identities/{phone.user.id}`, as: 'phone' },
    signIn('ada', 'phone'),
    signIn('ada', 'tablet'),
    { name: 'a new password', send: 'PUT /user', as: 'phone', body: { password: 'another one entirely' } },
    getUser('phone', 'after its new password'),
    getUser('tablet', 'after a new password elsewhere'),
    {
      name: 'sign in by the new password',
      send: 'POST /token?grant_type=password',
      body: { email: 'ada@example.com', password: 'another one entirely' },
      keep: 'phone',
    },
    {
      name: 'an admin sets a password',
      send: 'PUT /admin/users/{phone.user.id}',
      as: 'admin',
      body: { password: PASSWORD },
    },
    getUser('phone', 'after a password by an admin'),
    signIn('ada', 'phone'),
    {
      name: 'soft deletion',
      send: 'DELETE /admin/users/{phone.user.id}',
      as: 'admin',
      body: { should_soft_delete: true },
    },
    getUser('phone', 'after a soft deletion'),
    signOut('phone'),
    signIn('ada', 'x'),
    signUp('ada'),
    getUser('ada', 'who has come back'),
    { name: 'GET the deleted', send: 'GET /admin/users/{phone.user.id}', as: 'admin' },
    {
      name: 'PUT the deleted',
      send: 'PUT /admin/users/{phone.user.id}',
      as: 'admin',
      body: { user_metadata: { a: 1 } },
    },
    { name: 'delete the deleted', send: 'DELETE /admin/users/{phone.user.id}', as: 'admin' },
  ],
}

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

/** Refreshes with a reuse interval of 0, the default of supabase/auth. */
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
