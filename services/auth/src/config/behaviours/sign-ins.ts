import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** Passwords, factors and what signs in with them. */
export const signInBehaviours = {
  keepOutdatedHashes: {
    subject: 'A right password whose hash has another algorithm or cost than new ones',
    compatible: is(false, 'is hashed anew'),
    supabase: is(true, 'keeps its hash'),
    reason: 'Functions compare `encrypted_password` with `crypt()`, which knows bcrypt alone.',
  },
  showBanBeforePassword: {
    subject: 'A sign-in of a banned user with a wrong password',
    compatible: is(false, '400 `invalid_credentials`'),
    supabase: is(true, '400 `user_banned`'),
    reason: 'Applications show the ban.',
  },
  parsePhones: {
    subject: 'A phone number with other digits than one dials, or one that is impossible',
    compatible: is(true, '`+44 0 7418 084106` is read as `447418084106`; an impossible one is 400 `validation_failed`'),
    supabase: is(false, 'is the number of these digits'),
    reason: 'SQL and applications look for the digits that were sent.',
  },
  findUserByMalformedPhone: {
    subject: 'A sign-in by password where `phone` is no phone number',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, '400 `invalid_credentials`, unless a user has this phone'),
    reason: 'SQL may have stored a number in national form. One text for whatever is wrong with a sign-in.',
  },
  treatEmptyPasswordAsWeak: {
    subject: '`PUT /user` or `PUT /admin/users/:id` with `password: ""`',
    compatible: is(false, 'ignores the member'),
    supabase: is(true, '422 `weak_password`'),
    reason: 'Forms show that a password is missing.',
  },
  showNullWeakPassword: {
    subject: '`weak_password` of a session by password, where the password meets the policy',
    compatible: is(false, 'absent'),
    supabase: is(true, '`null`'),
    reason: 'Types of client libraries have the member.',
  },
  clearSentTimesOnNewPassword: {
    subject: '`…_sent_at` of a user who gets a new password, or accepts an invitation by mail',
    compatible: is(false, 'stay, but for those of a change that the password has ended'),
    supabase: is(true, 'are absent'),
    reason: 'The messages are of no use any more.',
  },
  showEnrolledPhoneAsSent: {
    subject: '`phone` in the answer of `POST /factors`',
    compatible: is(false, 'without `+`'),
    supabase: is(true, 'as it was sent'),
    reason: 'Applications show the number that the user has typed.',
  },
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: passwords, factors and what signs in with them. */
export const keptSignInBehaviours: readonly KeptBehaviour[] = [
  {
    subject: 'Wrong codes and passwords',
    ours: 'Counted; after `OTP_MAX_ATTEMPTS` and `FAILED_ATTEMPTS` the right one is refused too',
    theirs: 'Not counted',
    reason: 'A code of six digits can be guessed otherwise.',
  },
  {
    subject: '`amr` of a session by the confirmation of a new address',
    ours: '`email_change`, `phone_change`',
    theirs: '`otp`',
    reason: 'Such a session may not set a password without the current one. One by a code may.',
  },
  {
    subject: 'The same TOTP code twice',
    ours: '422 `mfa_verification_failed`',
    theirs: 'Accepted again within its step',
    reason: 'Whoever reads a code over a shoulder must not use it.',
  },
  {
    subject: 'The account name in the URI of a TOTP factor',
    ours: 'Escaped',
    theirs: 'As it is',
    reason: 'Authenticator apps read both; the URI is one only when it is escaped.',
  },
  {
    subject: 'A `challenge_id` that is no UUID',
    ours: '422 `mfa_factor_not_found`',
    theirs: '400 `bad_json`',
    reason: 'An id that nobody has is unknown, whatever its form.',
  },
  {
    subject:
      'What a session has started, when another session signs it out, it is revoked as stolen or its user is banned: changes of address, linking, challenges',
    ours: '[Ends](reference/auth.md#work-of-sessions). The passkeys that a stolen session has registered end too',
    theirs: 'Stays',
    reason: 'Whoever steals a session starts these to keep the account.',
  },
  {
    subject: '`email_verified` in an access token, while nobody has confirmed the email',
    ours: '`false`',
    theirs: 'No such claim',
    reason: 'Another service must not take the address for one that was proved.',
  },
]
