import { chapter } from './requirement.ts'

const SESSIONS = { documented: 'docs/reference/auth.md#sessions' }

const OUTSIDE = {
  payments: 'it keeps no sessions: every request brings a key, which its owner can revoke, or a token (V9)',
  inventory: 'it keeps no sessions: every request brings a token (V9)',
}

/** Chapter V7: sessions. */
export const sessions = chapter(
  'V7 Session management',
  [
    ['7.1.1', 2, 'The documentation says how long sessions last, with and without use, and why', SESSIONS],
    ['7.1.2', 2, 'The documentation says how many sessions a user may have', SESSIONS],
    ['7.1.3', 2, 'The documentation says how sessions depend on those of providers', SESSIONS],
    ['7.2.1', 1, 'Tokens are verified by the service'],
    ['7.2.2', 1, 'Tokens of sessions are generated, not static keys'],
    ['7.2.3', 1, 'Reference tokens are unique and have at least 128 random bits'],
    [
      '7.2.4',
      1,
      'Authentication makes new tokens and revokes the earlier ones',
      {
        deviation:
          'a second factor does both; a sign-in makes new tokens, and has no earlier tokens of its session to revoke',
      },
    ],
    [
      '7.3.1',
      2,
      'Unused sessions end',
      {
        deviation: 'existing clients stay signed in until they sign out (`AUTH_SESSIONS_INACTIVITY_TIMEOUT`)',
        strict: 'after an hour, at most a day',
      },
    ],
    [
      '7.3.2',
      2,
      'Sessions have a longest duration',
      { deviation: 'only if `AUTH_SESSIONS_TIMEBOX` is set', strict: 'after a day, at most thirty' },
    ],
    [
      '7.4.1',
      1,
      'An ended session cannot be used',
      {
        deviation: 'its access token can still read the user’s record until the token expires, and can change nothing',
        strict:
          'every call checks the session; services that verify tokens only by the key set accept them for 15 minutes at most',
      },
    ],
    ['7.4.2', 1, 'Banned and deleted users have no session'],
    ['7.4.3', 2, 'A change of password or factor can end all other sessions'],
    [
      '7.4.4',
      2,
      'Every page has a visible sign-out',
      { notApplicable: 'the service has no pages that need a session' },
    ],
    [
      '7.4.5',
      2,
      'Admins can end the sessions of one user, or of all',
      { deviation: 'of one user by a ban or a new password; for all users only in the table `sessions`' },
    ],
    [
      '7.5.1',
      2,
      'Changes of sign-in data need full authentication',
      {
        deviation:
          'the second factor of a user who has one, both addresses for a change of email, and whatever `AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION` and `AUTH_SESSIONS_FRESH_FOR` require',
        strict:
          'a sign-in or second factor within 15 minutes, the current password for a new password, and the second factor for identities too',
      },
    ],
    [
      '7.5.2',
      2,
      'Users can list their sessions and end each',
      {
        deviation:
          'users can end this session, all others or all (`POST /logout`), but cannot list them: the API of existing clients has no list',
      },
    ],
    ['7.6.1', 2, 'Sessions end together with those of providers as documented', SESSIONS],
    ['7.6.2', 2, 'Sessions begin only with an act of their user'],
  ],
  OUTSIDE,
)
