import { chapter } from './requirement.ts'

const REFERENCE = 'docs/reference/auth.md'
/** Only the limit of guesses (6.3.1) is payments' own. */
const OUTSIDE = {
  payments:
    'it has no accounts, passwords or factors: apps send random keys, and people tokens of a sign-in service (V9)',
  inventory: 'it has no accounts, passwords or factors: people send tokens of a sign-in service (V9)',
}
const NO_PAGES = 'the service has no page with a password; clients bring their own'

/** Chapter V6: passwords, factors and recovery. */
export const authentication = chapter(
  'V6 Authentication',
  [
    [
      '6.1.1',
      1,
      'How guesses and floods are held off, and nobody is locked out by others',
      { documented: `${REFERENCE}#limits` },
    ],
    ['6.1.2', 2, 'The words that passwords may not rest on', { documented: `${REFERENCE}#password-policy` }],
    ['6.1.3', 2, 'Every way to sign in, and how strong it is', { documented: `${REFERENCE}#ways-to-sign-in` }],
    [
      '6.2.1',
      1,
      'Passwords of at least 8 characters',
      {
        deviation: 'six by default; `AUTH_PASSWORD_MIN_LENGTH` raises that',
        strict: 'at least 8, and 15 unless it is set',
      },
    ],
    ['6.2.2', 1, 'Users can change their password'],
    [
      '6.2.3',
      1,
      'A change asks for the current password',
      {
        deviation: 'clients of today do not send it',
        strict: 'it is asked for, but in a session that began by a code or a link: so a forgotten one is replaced',
      },
    ],
    [
      '6.2.4',
      1,
      'None of the 3,000 most common passwords',
      {
        deviation: 'clients expect no such refusal',
        strict:
          'some 6,500 of 8 characters and more are refused, and several of them strung together: few of 15 are common by themselves',
      },
    ],
    [
      '6.2.5',
      1,
      'No rules about kinds of characters',
      {
        deviation: 'an operator may set some (`AUTH_PASSWORD_REQUIRED_CHARACTERS`)',
        strict: 'refuses to start with them',
      },
    ],
    ['6.2.6', 1, 'Password fields are masked', { notApplicable: NO_PAGES }],
    ['6.2.7', 1, 'Password managers and pasting work', { notApplicable: NO_PAGES }],
    ['6.2.8', 1, 'Passwords are compared exactly as they are sent'],
    [
      '6.2.9',
      2,
      'Passwords of 64 characters are taken',
      {
        deviation:
          'those of ASCII are; the limit is 72 bytes of UTF-8, so that imported bcrypt hashes see all of them, and other scripts have 18 to 36 characters',
      },
    ],
    ['6.2.10', 2, 'Passwords do not expire'],
    [
      '6.2.11',
      2,
      'Words of the place are not what a password rests on',
      {
        deviation: 'only those of `AUTH_PASSWORD_FORBIDDEN_WORDS`, which is empty by default',
        strict: 'adds the names of the own hosts',
      },
    ],
    [
      '6.2.12',
      2,
      'New passwords are looked up among breached ones',
      {
        deviation:
          'off unless it is wanted, in both profiles: it calls somebody else’s server (`AUTH_PASSWORD_HIBP_ENABLED`)',
      },
    ],
    ['6.3.1', 1, 'Guesses are held off as documented', { payments: 'met' }],
    ['6.3.2', 1, 'No default accounts'],
    [
      '6.3.3',
      2,
      'A second factor is needed',
      {
        deviation: 'each user decides; the claim `aal` lets an application insist',
        strict: 'a session that lacks the factor of its user ends after 15 minutes; nobody is made to have one',
        isPartial: true,
      },
    ],
    ['6.3.4', 2, 'Every way to sign in is known, and is guarded alike'],
    [
      '6.4.1',
      1,
      'First passwords and codes are random, short-lived, and do not stay',
      {
        deviation: 'an admin may choose a password that its user keeps',
        strict:
          'it must meet the policy, and goes when its user confirms an address; it stays where the admin has confirmed that',
        isPartial: true,
      },
    ],
    ['6.4.2', 1, 'No password hints, no secret questions', { notApplicable: 'there are neither' }],
    ['6.4.3', 2, 'A forgotten password is replaced without going round the second factor'],
    [
      '6.4.4',
      2,
      'Whoever has lost a factor proves who they are as at its beginning',
      {
        deviation:
          'recovery codes are for that; beside them an admin may remove a factor, and what proof they ask for is their own rule',
      },
    ],
    ['6.5.1', 2, 'Codes, links and recovery codes work once'],
    [
      '6.5.2',
      2,
      'Recovery codes are stored by a password hash',
      {
        deviation:
          'by HMAC-SHA-256 with a key that is not in the database, and the factor: 81 bits under a secret key need no slow hash',
      },
    ],
    ['6.5.3', 2, 'Codes and secrets come from a secure source of chance'],
    ['6.5.4', 2, 'Codes have at least six digits'],
    [
      '6.5.5',
      2,
      'Codes live ten minutes at most, those by time 30 seconds',
      {
        deviation:
          'mails are good for a day by default; a code by time is taken a step early or late, for clocks that differ',
        strict: 'ten minutes at most for mails and SMS',
        isPartial: true,
      },
    ],
    [
      '6.6.1',
      2,
      'SMS only for phones that were validated, beside a stronger factor, and with a warning',
      {
        deviation:
          'off by default, the phone is validated first, and apps are on beside it; the warning is the application’s',
        strict: 'apps cannot be switched off',
        isPartial: true,
      },
    ],
    ['6.6.2', 2, 'A code is good only for what asked for it'],
    ['6.6.3', 2, 'Guesses of codes are limited'],
    [
      '6.8.1',
      2,
      'Nobody is taken for the user of another provider',
      {
        deviation:
          'the provider and its `sub` together are who somebody is; one whom nobody knows is matched by an address that the provider has verified, and azure’s counts as verified where it does not say (`xms_edov`), as in GoTrue',
        strict: 'azure has to say it',
      },
    ],
    ['6.8.2', 2, 'Signatures of what providers assert are verified'],
    ['6.8.3', 2, 'SAML assertions are used once', { notApplicable: 'there is no SAML' }],
    ['6.8.4', 2, 'How strongly a provider has authenticated is verified, or counts as the least: `aal1`'],
  ],
  OUTSIDE,
)
