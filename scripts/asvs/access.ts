import { chapter } from './requirement.ts'

/** Of 9.2.3, and 10.3.1 alike. */
export const AUDIENCE = {
  deviation: 'those of users; tokens of operators need no audience, as the service keys that exist have none',
}

const RIGHTS = { documented: 'services/auth/README.md#who-may-do-what' }

export const authorization = chapter('V8 Authorization', [
  ['8.1.1', 1, 'Who may call what, on whose data', RIGHTS],
  ['8.1.2', 2, 'Who may read and write which fields', RIGHTS],
  ['8.2.1', 1, 'Calls are for those who may make them'],
  ['8.2.2', 1, 'Nobody reaches what is somebody else’s'],
  ['8.2.3', 2, 'Fields are for those who may have them'],
  ['8.3.1', 1, 'The service decides, by what no client can change'],
  ['8.4.1', 2, 'Tenants are kept apart: users of different audiences'],
])

export const tokens = chapter('V9 Self-contained tokens', [
  ['9.1.1', 1, 'Signatures are verified before anything else is believed'],
  ['9.1.2', 1, 'Only listed algorithms, never none, and no key serves another algorithm than its own'],
  ['9.1.3', 1, 'Keys come from where they were configured, never from the token'],
  ['9.2.1', 1, 'Tokens hold from nbf to exp'],
  ['9.2.2', 2, 'Tokens are taken for what they are made for'],
  ['9.2.3', 2, 'Only tokens for this service', AUDIENCE],
  ['9.2.4', 2, 'Tokens for several audiences say which one'],
])
