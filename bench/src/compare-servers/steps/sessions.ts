import { bodies, getUser, PASSWORD, type RequestStep, type Subject, sends, signIn, signUp } from '../step.ts'

const signOut = (name: string, query = ''): RequestStep => ({
  name: `sign out ${name}${query}`,
  send: `POST /logout${query}`,
  as: name,
})

/** Sign-outs by scope, and calls of sessions that have ended. */
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
    ...sends(['GET /reauthenticate', 'GET /user/identities/authorize?provider=keycloak'], {
      as: 'phone',
    }),
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
