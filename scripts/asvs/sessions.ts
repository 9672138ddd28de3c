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
    ['7.1.1', 2, 'How long sessions last, unused and at all, and why', SESSIONS],
    ['7.1.2', 2, 'How many sessions a user may have', SESSIONS],
    ['7.1.3', 2, 'How sessions at providers and ours depend on each other', SESSIONS],
    ['7.2.1', 1, 'Tokens are verified by the service'],
    ['7.2.2', 1, 'Tokens of sessions are made anew, never static keys'],
    ['7.2.3', 1, 'Reference tokens are unique and have at least 128 random bits'],
    [
      '7.2.4',
      1,
      'Authentication makes new tokens, and those of before end',
      {
        deviation:
          'a second factor does both; a sign-in makes new ones, and brings none along that could end: those end with their session',
      },
    ],
    [
      '7.3.1',
      2,
      'Unused sessions end',
      {
        deviation: 'clients of today stay signed in until they sign out (`AUTH_SESSIONS_INACTIVITY_TIMEOUT`)',
        strict: 'after an hour, at most a day',
      },
    ],
    [
      '7.3.2',
      2,
      'Sessions end at some time',
      { deviation: 'not unless it is set (`AUTH_SESSIONS_TIMEBOX`)', strict: 'after a day, at most thirty' },
    ],
    [
      '7.4.1',
      1,
      'After its end a session can be used for nothing',
      {
        deviation: 'its access token still reads the own record until it expires; it changes nothing',
        strict:
          'every call asks for the session; services that verify tokens by the key set alone take them for 15 minutes at most',
      },
    ],
    ['7.4.2', 1, 'Nobody who is banned or deleted has a session'],
    ['7.4.3', 2, 'All other sessions can be ended with a change of password or factor'],
    ['7.4.4', 2, 'Every page has a way out', { notApplicable: 'the service has no pages that need a session' }],
    [
      '7.4.5',
      2,
      'Admins can end the sessions of one user, or of all',
      { deviation: 'of one, by a ban or a new password; for all there is no call, only the table `sessions`' },
    ],
    [
      '7.5.1',
      2,
      'Full authentication before what sign-ins rest on is changed',
      {
        deviation:
          'a second factor where the user has one, both addresses for a change of email, and what is set of `AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION` and `AUTH_SESSIONS_FRESH_FOR`',
        strict:
          'a sign-in or a second factor of the last quarter of an hour, the current password for a new one, and the second factor for identities too',
      },
    ],
    [
      '7.5.2',
      2,
      'Users see their sessions, and end any',
      {
        deviation:
          'they end this one, all others or all (`POST /logout`), and see none: the API that clients know has no list',
      },
    ],
    ['7.6.1', 2, 'Sessions at providers and ours end as documented', SESSIONS],
    ['7.6.2', 2, 'No session without an act of its user'],
  ],
  OUTSIDE,
)
