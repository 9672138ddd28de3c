import { chapter } from './requirement.ts'

const REFERENCE = 'docs/reference/auth.md'
/** Only the limit of guesses (6.3.1) is payments' own. */
const OUTSIDE = {
  payments:
    'it has no accounts, passwords or factors: apps send random keys, and users send tokens of a sign-in service (V9)',
  inventory: 'it has no accounts, passwords or factors: users send tokens of a sign-in service (V9)',
}
const NO_PAGES = 'the service has no page with a password; clients bring their own'

/** Chapter V6: passwords, factors and recovery. */
export const authentication = chapter(
  'V6 Authentication',
  [
    [
      '6.1.1',
      1,
      'The documentation says how guesses and floods are limited, and that nobody can lock others out',
      { documented: `${REFERENCE}#limits` },
    ],
    [
      '6.1.2',
      2,
      'The documentation lists the words that passwords must not contain',
      { documented: `${REFERENCE}#password-policy` },
    ],
    [
      '6.1.3',
      2,
      'The documentation lists every way to sign in, and how strong it is',
      { documented: `${REFERENCE}#ways-to-sign-in` },
    ],
    [
      '6.2.1',
      1,
      'Passwords have at least 8 characters',
      {
        deviation: 'six by default; `AUTH_PASSWORD_MIN_LENGTH` sets more',
        strict: 'at least 8; the default is 15',
      },
    ],
    ['6.2.2', 1, 'Users can change their password'],
    [
      '6.2.3',
      1,
      'A change of the password needs the current one',
      {
        deviation: 'existing clients do not send it',
        strict:
          'required, except in a session that began with a code or a link, so that users can replace a forgotten password',
      },
    ],
    [
      '6.2.4',
      1,
      'The 3,000 most common passwords are refused',
      {
        deviation: 'clients expect no such refusal',
        strict:
          'some 7,500 common passwords of 4 characters and more are refused, and combinations of them: few passwords of 15 characters are common by themselves',
      },
    ],
    [
      '6.2.5',
      1,
      'There are no rules about kinds of characters',
      {
        deviation: 'an operator may set rules (`AUTH_PASSWORD_REQUIRED_CHARACTERS`)',
        strict: 'the service does not start with such rules',
      },
    ],
    ['6.2.6', 1, 'Password fields are masked', { notApplicable: NO_PAGES }],
    ['6.2.7', 1, 'Pasting and password managers work', { notApplicable: NO_PAGES }],
    ['6.2.8', 1, 'Passwords are compared exactly as they are sent'],
    [
      '6.2.9',
      2,
      'Passwords of 64 characters are allowed',
      {
        deviation:
          'allowed in ASCII; the limit is 72 bytes of UTF-8, which imported bcrypt hashes cover as a whole; other scripts have 18 to 36 characters',
      },
    ],
    ['6.2.10', 2, 'Passwords do not expire'],
    [
      '6.2.11',
      2,
      'Passwords do not contain words of the organization',
      {
        deviation: 'only the words of `AUTH_PASSWORD_FORBIDDEN_WORDS` are refused, which is empty by default',
        strict: 'the names of the service’s hosts are refused too',
      },
    ],
    [
      '6.2.12',
      2,
      'New passwords are compared with breached passwords',
      {
        deviation:
          'off by default in both profiles, because it calls another company’s server (`AUTH_PASSWORD_HIBP_ENABLED`)',
      },
    ],
    ['6.3.1', 1, 'Guesses are limited as documented', { payments: 'met' }],
    ['6.3.2', 1, 'There are no default accounts'],
    [
      '6.3.3',
      2,
      'Users must have a second factor',
      {
        deviation: 'each user decides; an application can require the claim `aal`',
        strict: 'a session without the user’s second factor ends after 15 minutes; users need not add one',
        isPartial: true,
      },
    ],
    ['6.3.4', 2, 'All ways to sign in are documented and have the same protection'],
    [
      '6.4.1',
      1,
      'Initial passwords and codes are random and short-lived, and cannot be kept',
      {
        deviation: 'an admin may choose a password, which the user may keep',
        strict:
          'such a password must meet the policy, and is removed when the user confirms an address; it stays if the admin has confirmed the address',
        isPartial: true,
      },
    ],
    ['6.4.2', 1, 'There are no password hints and no secret questions', { notApplicable: 'there are neither' }],
    ['6.4.3', 2, 'Replacing a forgotten password does not bypass the second factor'],
    [
      '6.4.4',
      2,
      'A lost factor is replaced after the same proof of identity as at its enrolment',
      {
        deviation:
          'users have recovery codes; an admin may also unenrol a factor, after the proof that the operator requires',
      },
    ],
    ['6.5.1', 2, 'Codes, links and recovery codes work once'],
    [
      '6.5.2',
      2,
      'Recovery codes are stored by a password hash',
      {
        deviation:
          'by HMAC-SHA-256 over the code and the factor, with a key that is not in the database: 81 random bits under a secret key need no slow hash',
      },
    ],
    ['6.5.3', 2, 'Codes and secrets come from a secure random generator'],
    ['6.5.4', 2, 'Codes have at least six digits'],
    [
      '6.5.5',
      2,
      'Codes are valid for ten minutes at most, time-based codes for 30 seconds',
      {
        deviation:
          'codes of mails are valid for a day by default; a time-based code is accepted one step early or late, because clocks differ',
        strict: 'ten minutes at most for mails and SMS',
        isPartial: true,
      },
    ],
    [
      '6.6.1',
      2,
      'SMS go only to confirmed phones, beside a stronger factor, with a warning',
      {
        deviation:
          'off by default; the phone is confirmed first, and authenticator apps are available; the application shows the warning',
        strict: 'apps cannot be switched off',
        isPartial: true,
      },
    ],
    ['6.6.2', 2, 'A code is valid only for the request that it was sent for'],
    ['6.6.3', 2, 'Guesses of codes are limited'],
    [
      '6.8.1',
      2,
      'Users of one provider cannot become users of another',
      {
        deviation:
          'a user is known by the provider and its `sub`; an unknown `sub` is matched by an address that the provider has verified; azure’s address counts as verified unless azure says otherwise (`xms_edov`), as in GoTrue',
        strict: 'azure must say that the address is verified',
      },
    ],
    ['6.8.2', 2, 'Signatures of providers’ assertions are verified'],
    ['6.8.3', 2, 'SAML assertions are used once', { notApplicable: 'there is no SAML' }],
    ['6.8.4', 2, 'The strength of a provider’s authentication is verified, or counts as the lowest: `aal1`'],
  ],
  OUTSIDE,
)
