import { is, type KeptDifference, type OptionRows } from './option.ts'

export const signUpOptions = {
  confirmedDuplicateStatus: {
    subject: 'A sign-up with a taken address under autoconfirm',
    compatible: is(400, '400 `user_already_exists`'),
    supabase: is(422, '422 `user_already_exists`'),
    reason: 'Clients of supabase/auth know a taken address by this status.',
  },
  revealTakenAddress: {
    subject: 'A sign-up with the address of a confirmed user, without autoconfirm',
    compatible: is(false, 'looks like a fresh one'),
    supabase: is(true, '200 with `identities: []` and `role: ""`'),
    reason: 'Applications test `data.user.identities.length === 0` to say that the address is taken.',
  },
  revealRepeatedSignUp: {
    subject: 'Another sign-up with the address of a user who has not confirmed',
    compatible: is(false, '200, shows what was sent just now'),
    supabase: is(true, '429 within the interval between messages, later the user as stored'),
    reason: 'Applications show the time to wait, and that the address waits for its confirmation.',
  },
  createUserOnCodeRequest: {
    subject: '`POST /otp`, `POST /magiclink` for a new address',
    compatible: is(
      false,
      'the user exists once the code is entered. The mail is MAGIC_LINK with `type=magiclink`; its code has the types `email`, `magiclink`, `signup`',
    ),
    supabase: is(
      true,
      'the user exists at once. The mail, also to a user who has not confirmed, is CONFIRMATION with `type=signup`, in the interval of confirmations; its code has the types `email` and `signup`, not `magiclink`',
    ),
    reason: 'Triggers on `auth.users` make the rows of a new user, and templates greet new users.',
  },
  confirmerOwnsAnonymousAccount: {
    subject: 'The first confirmation of an address that an anonymous user has asked for',
    compatible: is(
      true,
      'ends the sessions of the account and removes its password: a stranger may have asked with the address of somebody else. A password that comes with the confirmation stays. An anonymous user who becomes permanent otherwise loses the changes of address that still wait',
    ),
    supabase: is(false, 'keeps sessions and password, and the changes of address that still wait'),
    reason: 'Applications go on with the session in which they asked for the address.',
  },
  showUserBesideSession: {
    subject: 'The answer of a `POST /signup` that signs in',
    compatible: is(true, 'has the members of the user beside those of the session'),
    supabase: is(false, 'is a session'),
    reason: 'Programs that log or store the answer take it for a session.',
  },
  showErrorsOfTriggers: {
    subject: 'A trigger or a constraint of an application that refuses a statement',
    compatible: is(false, '500 `unexpected_failure`; its report is in the log'),
    supabase: is(true, 'reported: `{code, message, hint, detail}` with the SQLSTATE; `PTnnn` is the status nnn'),
    reason: 'Applications refuse sign-ups by RAISE EXCEPTION in a trigger, and read the text.',
  },
} as const satisfies OptionRows

export const keptSignUpDifferences: readonly KeptDifference[] = [
  {
    subject: 'Password and `data` of an account that is confirmed by a message',
    ours: 'Those of the request that sent the message; after a code of `POST /otp` no password',
    theirs: 'Those of the first sign-up',
    reason: 'Anybody can sign up with the address of somebody else, and would know the password of its owner.',
  },
  {
    subject: 'Identities at providers that have verified no address, at the first confirmation of a sign-up',
    ours: 'Removed, as at that of an invited user whom nobody has claimed',
    theirs: 'Stay',
    reason: 'A stranger who has linked one would have a way in that the owner does not see.',
  },
  {
    subject: 'A change to the address of an account that nobody has confirmed, claimed or signed in to',
    ours: 'The address goes to the user who proves it, by a message or at a provider',
    theirs: '422 `email_exists` or `phone_exists`',
    reason: 'A stranger who signs up with an address keeps its owner from it otherwise.',
  },
  {
    subject: 'An invitation, once somebody has asked for a mail of a sign-up to its address',
    ours: 'Stays valid',
    theirs: 'Its link is that of the sign-up, so the former one is void',
    reason: 'Anybody can ask for such a mail, and would end the invitation of somebody else.',
  },
]

export const signInOptions = {
  keepOutdatedHashes: {
    subject: 'A right password whose hash has another algorithm or cost than new ones',
    compatible: is(false, 'is hashed again'),
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
} as const satisfies OptionRows

export const keptSignInDifferences: readonly KeptDifference[] = [
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

export const userOptions = {
  copyAddressToUserMetadata: {
    subject: '`user_metadata`',
    compatible: is(false, 'holds what was sent'),
    supabase: is(
      true,
      'a sign-up adds `sub`, `email`, `email_verified` and `phone_verified` (both false) over what was sent; the confirmation of an email, also by a provider or by linking, writes `email_verified: true`; `phone_verified` stays false',
    ),
    reason: 'Triggers and policies read `raw_user_meta_data`, and applications the claims of the token.',
  },
  metadataBytesMax: {
    subject: 'Size of `user_metadata` and `app_metadata` together',
    compatible: is(8_192, '8 KiB of JSON, so that an access token fits into a header, in a body of at most 256 KiB'),
    supabase: is(768_000, '750 KiB, for the same reason, in a body of at most 1 MiB'),
    reason: 'Applications keep images in metadata.',
  },
  keepSentTimesOfChanges: {
    subject: '`email_change_sent_at` and `phone_change_sent_at` after the change',
    compatible: is(false, 'absent'),
    supabase: is(true, 'stay'),
    reason: 'Types of client libraries have the members, and applications show when a change was asked for.',
  },
  showSignInOfOwnIdentities: {
    subject: '`last_sign_in_at` of an identity by email or phone',
    compatible: is(false, 'absent'),
    supabase: is(true, 'when the identity was made'),
    reason: 'Types of client libraries have the member, and applications format it.',
  },
  copyInvitationDataToIdentity: {
    subject: '`data` of an invitation, or of a generated link that makes a user',
    compatible: is(true, 'goes to `user_metadata` and to the `identity_data` of the email'),
    supabase: is(false, 'goes to `user_metadata` alone'),
    reason: 'Applications read what the admin has written in one place.',
  },
  ignoreNewAudience: {
    subject: '`aud` in `PUT /admin/users/:id`',
    compatible: is(false, 'is set'),
    supabase: is(true, 'is ignored'),
    reason: 'Programs send a whole user back. A user in another audience could not sign in any more.',
  },
  keepConfirmationOfChangedAddress: {
    subject: 'A new email or phone by `PUT /admin/users/:id`, without `email_confirm` or `phone_confirm`',
    compatible: is(false, 'is unconfirmed'),
    supabase: is(true, 'is confirmed when the former address was'),
    reason: 'Scripts of support change an address, and the user signs in with it.',
  },
  userListRowsMax: {
    subject: '`per_page` of `GET /admin/users`',
    compatible: is(1_000, 'up to 1,000'),
    supabase: is(50_000, 'up to 50,000, streamed'),
    reason: 'Scripts read all users with `listUsers({ perPage: 10000 })`.',
  },
  acceptPageZero: {
    subject: '`page=0` of `GET /admin/users`',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, 'the first page'),
    reason: 'Scripts count pages from 0.',
  },
  auditProviderOfNewUser: {
    subject: '`traits.provider` in the audit log, where an admin creates a user',
    compatible: is(false, 'absent'),
    supabase: is(true, '`email` or `phone`'),
    reason: 'Queries of the log count new users by it.',
  },
} as const satisfies OptionRows

export const keptUserDifferences: readonly KeptDifference[] = [
  {
    subject: 'Taken addresses and ids, bad hashes and long passwords in the admin API',
    ours: '400, 409 or 422 with an error code',
    theirs: '500 with the text of PostgreSQL',
    reason: 'A client can act on a code. The text shows the inside of the database.',
  },
  {
    subject: '`identities` in lists of users, `Link` and their order',
    ours: 'Filled; `Link` always has `per_page`',
    theirs: '`null`; `Link` repeats the query',
    reason: 'Everything that clients of supabase/auth read is there.',
  },
  {
    subject: 'A pending change of address that a new password has ended, and one of a deleted user',
    ours: 'Absent',
    theirs: '`new_email` and `new_phone` stay, though no code confirms them; hashes of a deleted user',
    reason: 'A fault of supabase/auth.',
  },
  {
    subject: 'A sign-up under autoconfirm in the audit log',
    ours: '`user_signedup`',
    theirs: '`user_signedup` and `login`',
    reason: 'One action is one entry, so that counts of sign-ins have no sign-ups in them.',
  },
  {
    subject: '`POST /admin/users/:id`',
    ours: 'Creates the user with this id',
    theirs: '405',
    reason: 'Clients of supabase/auth never send it.',
  },
]

export const sessionOptions = {
  acceptSpentParentUntilChildIsUsed: {
    subject: 'The parent of the newest live refresh token, used again; that from before `aal2` too',
    compatible: is(
      false,
      'within `REUSE_INTERVAL` gets its child again; later ends the session. Not that from before `aal2`',
    ),
    supabase: is(true, 'at any time until its child is used'),
    reason: 'A client whose answer was lost, or whose phone slept meanwhile, stays signed in.',
  },
  branchOnAncestorReuse: {
    subject: 'Any other spent refresh token, used again within `REUSE_INTERVAL`',
    compatible: is(false, 'ends the session'),
    supabase: is(true, 'gets a new child; the other tokens of the session stay alive'),
    reason: 'A stale tab refreshes while another tab has refreshed twice. Rendering on a server makes this usual.',
  },
  useExternalUrlAsIssuer: {
    subject: 'The claim `iss` where `JWT_ISSUER` is not set',
    compatible: is(true, '`API_EXTERNAL_URL`'),
    supabase: is(false, 'none'),
    reason: 'Some verifiers accept only the claims that they list, and refuse a token with one more.',
  },
  expireTokensAtTimebox: {
    subject: 'Access tokens of a session with a timebox, with `SESSIONS_ENFORCE_ON_ACCESS_TOKEN`',
    compatible: is(true, 'expire with the session'),
    supabase: is(false, 'expire as others do; the next refresh is refused'),
    reason: 'Clients refresh a token that expires in a minute at once, and would do so until the session ends.',
  },
  takeAssuranceLevelFrom: {
    subject: 'An access token from before its session reached `aal2`',
    compatible: is('token', 'counts as `aal1`: 401 `insufficient_aal` where a second factor is needed'),
    supabase: is('session', 'counts as its session does'),
    reason: 'Servers hold the old token of a browser that has shown the second factor meanwhile.',
  },
  acceptTokenAudience: {
    subject: 'The audience of a user’s access token',
    compatible: is('of its user', 'must be that of the user: 400 and 403'),
    supabase: is('any', 'is only compared with the header X-JWT-AUD; the user is found by `sub`'),
    reason: 'The hook CUSTOM_ACCESS_TOKEN writes audiences of other services into tokens.',
  },
  reportDeletedUserAsMissing: {
    subject: 'A token of a user who was deleted softly',
    compatible: is('user', '403 `user_not_found`'),
    supabase: is('session', '403 `session_not_found`'),
    reason: 'Such a user still has a row, but no session.',
  },
  sendSessionHeaders: {
    subject:
      'The headers `sb-auth-user-id`, `sb-auth-session-id` and `sb-auth-refresh-token-prefix` of a new or refreshed session',
    compatible: is(false, 'not sent'),
    supabase: is(
      true,
      'sent, also where a hook refuses the session or a refresh is refused, as far as they are known; with `sb-auth-refresh-token-reuse: false` where a refresh has made a new refresh token',
    ),
    reason: 'Gateways and logs follow a session by them.',
  },
  showOAuthErrorMembers: {
    subject: 'Errors of `POST /token`',
    compatible: is('beside', 'have `error` and `error_description` beside their own members'),
    supabase: is(
      'of id_tokens',
      'have their own members alone; those about an id_token itself, or the session of an OAuth client, only `error` (`invalid request`, `invalid nonce`, `invalid_client`) and `error_description`, in every API version',
    ),
    reason: 'Clients take an error for one of OAuth by these members.',
  },
} as const satisfies OptionRows
